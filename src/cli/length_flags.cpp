#include "cli/length_flags.h"

#include "analysis/latency_percentile.h"
#include "base/messages.h"
#include "base/text.h"
#include "cli/run_flags.h"
#include "plan/auto_repeats.h"
#include "record/latency_percentiles.h"
#include "scenario/scenario.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

constexpr Nanoseconds quick_window = 500'000'000, quick_budget = 5'000'000'000;

// Returns whether windows end by the clock alone, as those with a rate do: an interval cannot shorten them.
bool have_own_windows(const std::vector<Axis>& axes) {
  const Axis* scenarios = find_axis(axes, "scenario");
  const auto has_own = [](const std::string& name) {
    const auto known = Registry<Scenario>::instance().names();
    const bool is_known = std::find(known.begin(), known.end(), name) != known.end();
    const Nanoseconds own = is_known ? Registry<Scenario>::instance().make("scenario", name)->default_duration() : 0;
    return own > 0 && own != never;
  };
  return scenarios != nullptr && std::all_of(scenarios->values.begin(), scenarios->values.end(), has_own);
}

}  // namespace

void LengthFlags::declare(CLI::App& app, const std::string& group) {
  app.add_option("--warmup", warmup_, "Queries before the measured window [default: until times are steady]")->group(group)->type_name("N");
  app.add_option("-n,--iterations", iterations_, "Measure exactly N queries")->group(group)->type_name("N");
  app.add_option("--duration", duration_, "Measure for this long")->group(group)->type_name("TIME");
  app.add_option("--min-duration", min_duration_, "Measure for at least this long")->group(group)->type_name("TIME");
  app.add_option("--interval", interval_, "Target half-width of the 95 % interval [default: 1%]")->group(group)->type_name("PERCENT");
  app.add_option("--percentile", percentile_,
                 "Metric that --interval applies to, such as p99 [default: throughput]. A list such as 90,95,99 adds columns to the table")
      ->group(group)
      ->type_name("P");
  app.add_option("--budget", budget_, "Limit the measured window; a wider interval is then unstable [default: 30s]")
      ->group(group)
      ->type_name("TIME");
  app.add_flag("--energy", energy_, "Measure for at least 10 s, so that the steps of an energy counter are below 1 %")->group(group);
  app.add_option("-r,--repeats", repeats_,
                 "Repeat each point, each time in a new process. auto: up to 30 times, until the interval over repeats is as narrow as "
                 "--interval, within --budget [default: 1; study files: 5]")
      ->group(group)
      ->type_name("N|auto");
  app.add_flag("--quick", quick_, "Short run: 0.5 to 5 s, or as --budget says. May miss slow drift")->group(group);
  app.add_option("--sweeps", sweeps_, "Number of passes over the whole grid [default: 1]")->group(group)->type_name("N");
}

void LengthFlags::add_to(Overrides& overrides) const {
  overrides.repeats = repeats();
  overrides.sweeps = sweeps_;
  overrides.warmup = warmup_;
  overrides.iterations = iterations_;
  if (duration_) overrides.duration = positive_duration_flag("--duration", *duration_, "8s");
  if (min_duration_) overrides.min_duration = positive_duration_flag("--min-duration", *min_duration_, "500ms");
  overrides.energy = energy_;
  if (budget_ && !repeats_are_auto()) overrides.budget = positive_duration_flag("--budget", *budget_, "30s");
  if (interval_) overrides.interval = checked_positive_fraction(*interval_, "--interval", "1%");
  if (shown_percentiles().empty()) overrides.target = percentile_;
  if (!quick_) return;
  const bool by_clock = have_own_windows(overrides.axes);
  (by_clock ? overrides.duration : overrides.min_duration) = quick_window;
  if (!by_clock && !overrides.budget) overrides.budget = quick_budget;
}

// Returns what --repeats says; for auto, as many as there may be.
std::optional<int> LengthFlags::repeats() const {
  if (!repeats_) return std::nullopt;
  if (repeats_are_auto()) return most_auto_repeats;
  const auto number = parse_int(*repeats_);
  if (!number || *number < 1 || *number > 1'000'000)
    throw Error(ErrorKind::usage,
                fmt::format("invalid value '{}' for --repeats: expected a whole number of at least 1, or auto", *repeats_));
  return static_cast<int>(*number);
}

bool LengthFlags::any_rule() const {
  return warmup_ || iterations_ || duration_ || min_duration_ || energy_ || quick_ || repeats_are_auto();
}

std::optional<std::chrono::nanoseconds> LengthFlags::budget() const {
  if (!budget_) return std::nullopt;
  return std::chrono::nanoseconds(positive_duration_flag("--budget", *budget_, "30s"));
}

std::vector<double> LengthFlags::shown_percentiles() const {
  if (!percentile_ || percentile_->find(',') == std::string::npos) return {};
  std::vector<double> percents = parse_percentiles(*percentile_);
  for (const double percent : percents) {
    if (latency_metric_id(percent).empty())
      throw Error(
          ErrorKind::usage,
          fmt::format("--percentile {:g} is not a column of the table; deepgap export --percentile {:g} writes it", percent, percent));
  }
  return percents;
}

}  // namespace deepgap
