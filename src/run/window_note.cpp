#include "run/window_note.h"

#include "base/text.h"
#include "record/point_option.h"
#include "record/tenant_set.h"
#include "stats/latency_bound.h"
#include "worker/bounded_window.h"
#include "worker/mlperf_run.h"
#include "worker/preparation.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <cmath>

namespace deepgap {
namespace {

// Fewer tell nothing of a rate.
constexpr double fewest_of_a_rate = 2;

double queries_in(Nanoseconds window, double rate) { return rate * static_cast<double>(window) / 1e9; }

void refuse_short_window(Nanoseconds window, double rate) {
  if (queries_in(window, rate) >= fewest_of_a_rate) return;
  throw Error(
      ErrorKind::usage,
      fmt::format("a rate of {:.4g} a second makes {:.2g} queries in a window of {}: measure for {} at least (--duration), or raise the "
                  "rate",
                  rate, queries_in(window, rate), format_duration(window),
                  format_duration(static_cast<Nanoseconds>(fewest_of_a_rate / rate * 1e9))));
}

}  // namespace

std::string window_note(const Job& job) {
  const double rate = parse_double(option_of(job.point, "rate")).value_or(0);
  if (rate <= 0 || !job.skip_reason.empty() || is_mlperf(job.point) || job.point.options.contains("peak")) return {};
  // As the worker will have it.
  const StoppingSettings asked = window_settings(*scenario_of(job.point), job.stopping);
  if (asked.name != "duration" || !asked.duration) return {};
  const auto bound = latency_bound_from(option_of(job.point, "bound"));
  const bool grows = bound && !tenant_place(job.point);
  const StoppingSettings window = grows ? grown_settings(asked, *bound, rate, BoundRule::shown) : asked;
  refuse_short_window(*window.duration, rate);
  if (!grows) return {};
  const int64_t fewest = fewest_that_tell(*bound, BoundRule::shown);
  const auto enough = [&](const StoppingSettings& settings) { return queries_in(*settings.duration, rate) >= static_cast<double>(fewest); };
  if (enough(asked)) return {};
  const std::string few = fmt::format("{:.4g} queries a second bring some {:.0f} in {}, and the bound {} takes {} at least", rate,
                                      std::floor(queries_in(*asked.duration, rate)), format_duration(*asked.duration), bound->text, fewest);
  if (enough(window)) return fmt::format("{}: the window is {} long", few, format_duration(*window.duration));
  return fmt::format("{}: it will be undecided after the budget of {}; raise the rate, or give --budget {:.0f}s", few,
                     format_duration(*window.duration), std::ceil(1.5 * static_cast<double>(fewest) / rate));
}

}  // namespace deepgap
