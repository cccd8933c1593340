#include "run/inspection.h"

#include "base/text.h"
#include "record/record_json.h"
#include "run/worker_process.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>

#include <set>

namespace deepgap {
namespace {

constexpr uint64_t gibibyte = uint64_t{1} << 30;

// Generous for honest files, and an end to the others. Sanitizers reserve terabytes of address space, so there it is not limited.
WorkerLimits limits_for(const std::vector<Point>& points) {
  std::set<std::string> files;
  uint64_t bytes = 0;
  for (const Point& point : points) {
    struct stat info {};
    if (files.insert(point.model).second && ::stat(point.model.c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
      bytes += static_cast<uint64_t>(info.st_size);
    }
  }
  WorkerLimits limits;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  limits.address_space_bytes = 8 * gibibyte + 4 * bytes;
#endif
  limits.cpu_seconds = 120 + bytes / (gibibyte / 20);
  return limits;
}

[[noreturn]] void explain_death(WorkerProcess& worker, const std::string& subject) {
  const ExitState state = worker.exit_state();
  const std::string said = trim(worker.process().output_tail());
  const std::string cause = state.signal == SIGXCPU || state.signal == SIGKILL
                                ? "it took more time or memory than an inspection may"
                                : fmt::format("the inspection died ({}){}{}", state.describe(), said.empty() ? "" : ": ", said);
  throw Error(ErrorKind::input, fmt::format("cannot use {}: {}", subject, join(split(cause, '\n'), " ")));
}

}  // namespace

Inspected inspect_in_child(const std::vector<Point>& points, const std::string& cache_dir, Interrupts& interrupts) {
  const WorkerLimits limits = limits_for(points);
  WorkerProcess worker({}, limits);
  Frame request{{{"kind", "inspect"}, {"cache_dir", cache_dir}, {"points", nlohmann::json::array()}}, {}};
  for (const Point& point : points) request.header["points"].push_back(point_to_json(point));
  worker.send(request);
  Inspected inspected;
  std::string subject = "the plan";
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2 * *limits.cpu_seconds);
  while (true) {
    Frame frame;
    switch (worker.wait(frame, deadline, interrupts)) {
      case WorkerProcess::Event::interrupted:
        inspected.interrupted = true;
        return inspected;
      case WorkerProcess::Event::silence:
        throw Error(ErrorKind::input, fmt::format("cannot use {}: its inspection took longer than {} s", subject, 2 * *limits.cpu_seconds));
      case WorkerProcess::Event::ended:
        explain_death(worker, subject);
      case WorkerProcess::Event::frame:
        break;
    }
    const std::string kind = frame.header.value("kind", "");
    if (kind == "inspecting") subject = frame.header.at("subject");
    if (kind == "point") inspected.points.push_back(inspected_from_json(frame.header));
    if (kind == "error") {
      throw Error(static_cast<ErrorKind>(frame.header.at("error").get<int>()), frame.header.at("message").get<std::string>());
    }
    if (kind == "inspected") {
      inspected.environment = facts_from_json(frame.header.at("environment"));
      return inspected;
    }
  }
}

}  // namespace deepgap
