#include "cli/length_flags.h"

#include "analysis/latency_percentile.h"
#include "base/text.h"
#include "cli/run_flags.h"
#include "plan/auto_repeats.h"
#include "record/latency_percentiles.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {

void LengthFlags::declare(CLI::App& app, const std::string& group) {
  app.add_option("--warmup", warmup_, "Queries before the measured window; left out: until steady")->group(group)->type_name("N");
  app.add_option("-n,--iterations", iterations_, "Queries measured")->group(group)->type_name("N");
  app.add_option("--duration", duration_, "Length of the measured window")->group(group)->type_name("TIME");
  app.add_option("--min-duration", min_duration_, "Measured window not shorter than this, whatever ends it")
      ->group(group)
      ->type_name("TIME");
  app.add_option("--interval", interval_, "Measure until the 95 % interval is this narrow")->group(group)->type_name("1%");
  app.add_option("--percentile", percentile_,
                 "Whose interval --interval is about: p99; left out: throughput's. A list, 90,95,99, adds columns to the table")
      ->group(group)
      ->type_name("P");
  app.add_option("--budget", budget_, "Longest measured window; then the result is unstable")->group(group)->type_name("TIME");
  app.add_flag("--energy", energy_, "Measured window of 10 s at least: the steps of an energy counter are then under 1 %")->group(group);
  app.add_option(
         "-r,--repeats", repeats_,
         "Of each point, each in a process of its own; auto: as many as bring the interval over them to --interval, 30 at most, within "
         "--budget for all of them")
      ->group(group)
      ->type_name("N|auto");
  app.add_flag("--quick", quick_,
               "A look: half a second at least in place of 10 s, until the interval is as narrow as --interval or --budget ends; it may "
               "not see what lasts for seconds")
      ->group(group);
  app.add_option("--sweeps", sweeps_, "Passes over the whole grid")->group(group)->type_name("N");
}

void LengthFlags::require_fit(const RunKind& kind) const {
  if (kind.mlperf && (iterations_ || duration_ || min_duration_ || budget_ || interval_ || percentile_))
    throw Error(ErrorKind::usage,
                "the round's rules end an MLPerf run: leave out --iterations, --duration, --min-duration, --budget, --interval and "
                "--percentile; --axis mlperf_min_duration=MS and --scale change the rules");
  if (kind.tenants && (iterations_ || interval_ || percentile_))
    throw Error(ErrorKind::usage,
                "tenants are measured in windows of one length: give --duration, and leave out --iterations, --interval and --percentile");
}

void LengthFlags::add_to(Overrides& overrides, const RunKind& kind) const {
  require_fit(kind);
  overrides.repeats = repeats(kind);
  overrides.sweeps = sweeps_;
  overrides.warmup = warmup_;
  overrides.iterations = iterations_;
  if (duration_) overrides.duration = duration_flag("--duration", *duration_);
  if (min_duration_) overrides.min_duration = duration_flag("--min-duration", *min_duration_);
  if (quick_) overrides.min_duration = quick_window(kind);
  overrides.energy = energy_;
  if (budget_ && !repeats_are_auto()) overrides.budget = duration_flag("--budget", *budget_);
  if (interval_) {
    overrides.interval = parse_fraction(*interval_);
    if (!overrides.interval) throw Error(ErrorKind::usage, fmt::format("--interval '{}' is no share such as 1% or 0.01", *interval_));
  }
  if (shown_percentiles().empty()) overrides.target = percentile_;
}

// What --repeats says; of auto as many as there may be.
std::optional<int> LengthFlags::repeats(const RunKind& kind) const {
  if (!repeats_) return std::nullopt;
  if (repeats_are_auto()) {
    if (!kind.is_alone())
      throw Error(ErrorKind::usage,
                  "--repeats auto is for points that are measured alone: give a number beside --duel, --tenant, --find-peak and --mlperf");
    if (iterations_ || duration_)
      throw Error(ErrorKind::usage,
                  "--repeats auto goes on until an interval is as narrow as --interval: leave out --iterations and --duration");
    return most_auto_repeats;
  }
  const auto number = parse_int(*repeats_);
  if (!number || *number < 1 || *number > 1'000'000)
    throw Error(ErrorKind::usage, fmt::format("--repeats '{}' is neither a number from 1 on nor auto", *repeats_));
  return static_cast<int>(*number);
}

Nanoseconds LengthFlags::quick_window(const RunKind& kind) const {
  if (iterations_ || duration_ || min_duration_ || energy_ || kind.duel || kind.tenants)
    throw Error(
        ErrorKind::usage,
        "--quick sets the least window, half a second: leave out --iterations, --duration, --min-duration, --energy, --duel and --tenant");
  return 500'000'000;
}

bool LengthFlags::any_rule() const {
  return warmup_ || iterations_ || duration_ || min_duration_ || energy_ || quick_ || repeats_are_auto();
}

std::optional<std::chrono::nanoseconds> LengthFlags::budget() const {
  if (!budget_) return std::nullopt;
  return std::chrono::nanoseconds(duration_flag("--budget", *budget_));
}

std::vector<double> LengthFlags::shown_percentiles() const {
  if (!percentile_ || percentile_->find(',') == std::string::npos) return {};
  std::vector<double> percents = parse_percentiles(*percentile_);
  for (const double percent : percents) {
    if (latency_metric_id(percent).empty())
      throw Error(ErrorKind::usage,
                  fmt::format("--percentile {:g} is no column of the table; deepgap export --percentile {:g} has it", percent, percent));
  }
  return percents;
}

}  // namespace deepgap
