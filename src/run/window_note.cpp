#include "run/window_note.h"

#include "base/text.h"
#include "record/point_option.h"
#include "record/tenant_set.h"
#include "stats/latency_bound.h"
#include "worker/bounded_window.h"
#include "worker/mlperf_run.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <cmath>

namespace deepgap {
namespace {

// As the worker will have it: where no other ending was asked for, the scenario's own length.
StoppingSettings window_of(const Job& job) {
  const StoppingSettings unasked;
  StoppingSettings settings = job.stopping;
  const bool asked = settings.name != unasked.name || settings.interval != unasked.interval || settings.target != unasked.target;
  if (asked) return settings;
  const Nanoseconds own = scenario_of(job.point)->default_duration();
  if (own == 0 || own == never) return settings;
  settings.name = "duration";
  settings.duration = std::max(own, settings.duration.value_or(0));
  return settings;
}

}  // namespace

std::string window_note(const Job& job) {
  const double rate = parse_double(option_of(job.point, "rate")).value_or(0);
  if (rate <= 0 || !job.skip_reason.empty() || is_mlperf(job.point) || tenant_place(job.point) || job.point.options.contains("peak"))
    return {};
  const StoppingSettings asked = window_of(job);
  if (asked.name != "duration" || !asked.duration) return {};
  const auto queries = [&](Nanoseconds window) { return rate * static_cast<double>(window) / 1e9; };
  const auto bound = latency_bound_from(option_of(job.point, "bound"));
  if (!bound) {
    if (queries(*asked.duration) >= 1) return {};
    throw Error(ErrorKind::usage,
                fmt::format("{:.4g} queries a second bring none within {}: raise the rate, or measure longer (--duration)", rate,
                            format_duration(*asked.duration)));
  }
  const int64_t fewest = fewest_queries(*bound);
  if (queries(*asked.duration) >= static_cast<double>(fewest)) return {};
  const StoppingSettings grown = grown_settings(asked, *bound, rate);
  const std::string few = fmt::format("{:.4g} queries a second bring some {:.0f} in {}, and the bound {} takes {}", rate,
                                      std::floor(queries(*asked.duration)), format_duration(*asked.duration), bound->text, fewest);
  if (queries(*grown.duration) >= static_cast<double>(fewest))
    return fmt::format("{}: the window is {} long", few, format_duration(*grown.duration));
  return fmt::format("{}: it will be undecided after the budget of {}; raise the rate, or give --budget {:.0f}s", few,
                     format_duration(*grown.duration), std::ceil(1.5 * static_cast<double>(fewest) / rate));
}

}  // namespace deepgap
