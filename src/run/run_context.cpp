#include "run/run_context.h"

#include <fmt/format.h>

namespace deepgap {

std::string RunContext::label(const Job& job) const {
  return label(job.point) + (report.repeated && runs(job) ? fmt::format(" repeat {}", job.repeat + 1) : "");
}

}  // namespace deepgap
