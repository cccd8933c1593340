#include "run/window_note.h"

#include "base/quantity.h"
#include "base/text.h"
#include "record/point_option.h"
#include "record/tenant_set.h"
#include "stats/latency_bound.h"
#include "worker/bounded_window.h"
#include "worker/preparation.h"
#include "worker/run_rules.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <cmath>

namespace deepgap {
namespace {

// Fewer queries do not show a rate.
constexpr double fewest_of_a_rate = 2;

double queries_in(Nanoseconds window, double rate) { return rate * static_cast<double>(window) / 1e9; }

void refuse_short_window(Nanoseconds window, double rate) {
  if (queries_in(window, rate) >= fewest_of_a_rate) return;
  throw Error(ErrorKind::usage,
              fmt::format("a rate of {} a second makes {} queries in a window of {}: measure for {} at least (--duration), or raise the "
                          "rate",
                          short_text(rate, 4), short_text(queries_in(window, rate), 2), format_duration(window),
                          format_duration(static_cast<Nanoseconds>(fewest_of_a_rate / rate * 1e9))));
}

// The schedule as the worker will have it.
struct Schedule {
  double rate = 0;
  Nanoseconds asked = 0, window = 0;  // the window grows where it would hold too few queries for its bound
  std::optional<LatencyBound> bound;  // that it grows for
};

std::optional<Schedule> schedule_of(const Job& job) {
  Schedule schedule;
  schedule.rate = parse_double(option_of(job.point, "rate")).value_or(0);
  if (schedule.rate <= 0 || !job.skip_reason.empty() || rules_of(job.point) != nullptr || job.point.options.contains("peak")) return {};
  const StoppingSettings asked = window_settings(*scenario_of(job.point), job.stopping);
  if (asked.name != "duration" || !asked.duration) return {};
  if (!tenant_place(job.point)) schedule.bound = latency_bound_from(option_of(job.point, "bound"));
  schedule.asked = *asked.duration;
  schedule.window = schedule.bound ? *grown_settings(asked, *schedule.bound, schedule.rate, BoundRule::shown).duration : schedule.asked;
  return schedule;
}

}  // namespace

std::optional<Nanoseconds> scheduled_window(const Job& job) {
  const auto schedule = schedule_of(job);
  return schedule ? std::optional(schedule->window) : std::nullopt;
}

Nanoseconds scheduled_lead(const Job& job, Nanoseconds window) {
  return tenant_place(job.point) || job.point.placement.processes > 1 ? 0 : scenario_of(job.point)->lead(window);
}

std::string window_note(const Job& job) {
  const auto schedule = schedule_of(job);
  if (!schedule) return {};
  const auto& [rate, asked, window, bound] = *schedule;
  refuse_short_window(window, rate);
  if (!bound) return {};
  const int64_t fewest = fewest_that_tell(*bound, BoundRule::shown);
  if (queries_in(asked, rate) >= static_cast<double>(fewest)) return {};
  const std::string few = fmt::format("{} queries a second give about {:.0f} in {}, but the SLO {} needs at least {}", short_text(rate, 4),
                                      std::floor(queries_in(asked, rate)), format_duration(asked), bound->text, fewest);
  if (queries_in(window, rate) >= static_cast<double>(fewest))
    return fmt::format("{}: the window is {} long", few, format_duration(window));
  return fmt::format("{}: it will be inconclusive after the budget of {}; raise the rate, or give --budget {:.0f}s", few,
                     format_duration(window), std::ceil(1.5 * static_cast<double>(fewest) / rate));
}

}  // namespace deepgap
