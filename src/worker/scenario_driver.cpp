#include "worker/scenario_driver.h"

#include "base/quantity.h"
#include "base/text.h"
#include "record/point_option.h"
#include "record/task_traits.h"
#include "record/tenant_set.h"
#include "record/verdict.h"
#include "scenario/stopping/stretches.h"
#include "worker/bounded_window.h"
#include "worker/burst_window.h"
#include "worker/dispatch_record.h"
#include "worker/gpu_warmup.h"
#include "worker/mark_meter.h"
#include "worker/peak_probe.h"
#include "worker/process_facts.h"
#include "worker/run_rules.h"
#include "worker/sliced_window.h"
#include "worker/stage_record.h"
#include "worker/timing_log.h"
#include "worker/token_meter.h"
#include "worker/urgent_share.h"
#include "worker/verdict.h"
#include "worker/waiting.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace deepgap {
namespace {

// Queries a second, of a scenario that has a rate; else 0.
double offered_rate(const Point& point) { return parse_double(option_of(point, "rate")).value_or(0); }

// Returns the pause of a loop that waits for answers.
Nanoseconds pause_between_queries(const Point& point) {
  Nanoseconds pause = 0;
  for (const char* option : {"period", "think_time"}) pause += parse_duration(option_of(point, option)).value_or(0);
  return pause;
}

// The end of a window: by a rule, and where an open loop stops offering.
struct Ending {
  std::unique_ptr<Stopping> rule;
  Nanoseconds duration = never;
  Nanoseconds lead = 0;  // before the window
};

// The receivers of a window's results: meters around the Target, and a log.
struct Filling {
  Filling(const DriverContext& context, double urgent_share, Ending ends)
      : ending(std::move(ends)),
        log(context.heartbeat),
        sliced(*ending.rule, log),
        meter(watched(context, urgent_share)),
        failures([&heartbeat = context.heartbeat] { heartbeat.beat(); }) {}
  Target& watched(const DriverContext& context, double urgent_share) {
    Target* target = &context.target;
    if (urgent_share > 0) target = &urgent.emplace(*target, urgent_share, context.clock);
    if (task_traits(context.order.point.task).tokens) target = &tokens.emplace(*target);
    return *target;
  }

  Ending ending;
  TimingLog log;
  SlicedWindow sliced;                // what an interleaved arm measures
  std::optional<Burst> burst;         // with option power=burst
  std::optional<UrgentShare> urgent;  // where a share is: its histograms are half a megabyte
  std::optional<TokenMeter> tokens;   // for queries that generate
  MarkMeter meter;
  OfferedLoad offered;
  Failures failures;
};

// Returns why those that failed make the result invalid; empty: they do not. Throws where none was answered.
std::string keep_failures(const Failures& failures, int64_t answered, double allowed, Measured& measured) {
  if (failures.count() == 0) return {};
  if (answered == 0) throw Error(ErrorKind::internal, fmt::format("every query failed: {}", failures.text()));
  const double share = failures.share(answered);
  measured.facts["failures"] = failures.text();
  measured.estimates["failed_queries"] = {static_cast<double>(failures.count()), {}, {}, failures.count() + answered};
  measured.estimates["failed_share"] = {share, {}, {}, failures.count() + answered};
  if (share <= allowed) return {};
  return fmt::format("{} of {} queries ({}) failed, at most {} are allowed (failed_allowed): {}", failures.count(),
                     failures.count() + answered, percent_text(share, allowed), chosen_percent_text(allowed), failures.text());
}

// Exactly from the first query's begin to the last one's end, and of an open loop all of its schedule besides: two queries in a second are
// two a second, however near to each other they came.
Window window_of(const TimingLog& log, const OfferedLoad& offered) {
  if (offered.length == 0) return {"steady", log.begin(), log.end()};
  return {"steady", std::min(log.begin(), offered.begin), std::max(log.end(), offered.begin + offered.length)};
}

// Converts an estimate of the rule's own window, which is the log's.
Estimate over_window(Estimate throughput, const TimingLog& log, const std::optional<Window>& window) {
  if (!window || window->end <= window->begin) return throughput;
  const double share = static_cast<double>(log.end() - log.begin()) / static_cast<double>(window->end - window->begin);
  throughput.value *= share;
  for (auto* end : {&throughput.low, &throughput.high}) {
    if (*end) **end *= share;
  }
  return throughput;
}

class ScenarioDriver final : public WorkloadDriver {
 public:
  ScenarioDriver(std::unique_ptr<Scenario> scenario, PointOptions options, StoppingSettings stopping)
      : scenario_(std::move(scenario)), options_(std::move(options)), stopping_(std::move(stopping)) {}

  std::string unit() const override { return scenario_->traits().unit; }
  int64_t in_flight() const override { return scenario_->in_flight(); }
  bool uses_all_slots() const override { return scenario_->uses_all_slots(); }
  bool judges_accuracy() const override { return false; }

  WarmedUp warm_up(const DriverContext& context) override {
    WarmedUp warmed = warm_up_with(warmup_settings(context, options_.power), context);
    if (options_.power != PowerAsked::burst) return warmed;
    wait_until(context.clock.now() + rest_before_burst, context);
    warm_up_with(settings_after_rest(), context);
    return warmed;
  }

  void fill(const DriverContext& context) override {
    if (context.order.interleaved) return fill_in_slices(context);
    filling_.emplace(context, options_.dispatch.urgent, ending_of(context.order));
    forget_what_came_before(context);
    Filling& filling = *filling_;
    Traffic traffic = traffic_of(context, filling.meter, *filling.ending.rule, filling.log, filling.failures);
    if (options_.power == PowerAsked::burst) {
      Burst& burst = filling.burst.emplace(context.clock, readers_of(context.order.point.placement), *filling.ending.rule, filling.log);
      traffic.stopping = &burst.window;
      traffic.sink = &burst.window;
    }
    traffic.duration = filling.ending.duration;
    traffic.lead = filling.ending.lead;
    traffic.offered = &filling.offered;
    traffic.on_window = [this, &context] { forget_what_came_before(context); };
    scenario_->drive(traffic, context.clock, context.interrupted);
    // The scenario does not wait for what is due after the end of a schedule; the window lasts until then all the same.
    if (filling.offered.length > 0) wait_until(filling.offered.begin + filling.offered.length, context);
  }

  bool was_warming() const override {
    return !filling_->burst && filling_->sliced.slices().empty() && filling_->offered.length == 0 &&
           filling_->ending.rule->verdict().warming;
  }
  bool can_be_cut() const override;
  Measured measured(const DriverContext& context) override;

 private:
  WarmedUp warm_up_with(const StoppingSettings& settings, const DriverContext& context);
  static Traffic traffic_of(const DriverContext& context, Target& target, Stopping& stopping, TimingSink& sink, Failures& failures);
  void forget_what_came_before(const DriverContext& context);
  void begin_slices(const DriverContext& context);
  void fill_in_slices(const DriverContext& context);
  nlohmann::json take_slice(const DriverContext& context, const nlohmann::json& turn);
  bool has_window_of_its_own(const WorkOrder& order) const { return !tenant_place(order.point) && order.ranks == 1; }
  bool window_may_grow(const WorkOrder& order) const;
  bool asks_of_latency() const { return stopping_.name == "interval" && stopping_.target != "throughput"; }
  bool was_cut(const DriverContext& context) const {
    const bool ended_from_outside = context.interrupted.load() || context.order.interleaved;
    return ended_from_outside && filling_->ending.rule->state() == Stopping::State::more;
  }
  BoundRule bound_rule() const { return options_.peak_search ? BoundRule::nearest_rank : BoundRule::shown; }
  Ending ending_of(const WorkOrder& order) const;
  int64_t round_of(const WorkOrder& order) const { return scenario_->round(static_cast<int64_t>(order.point.placement.devices.size())); }

  std::unique_ptr<Scenario> scenario_;
  PointOptions options_;
  StoppingSettings stopping_;
  std::optional<Filling> filling_;
  std::vector<Timing> before_;        // with option power=sustained: of the warm-up, at the limit
  Nanoseconds warmed_in_slices_ = 0;  // windows of slices that were still warming up
  double cpus_waiting_ = 0;           // CPUs used between slices
};

WarmedUp ScenarioDriver::warm_up_with(const StoppingSettings& settings, const DriverContext& context) {
  const auto rule = make_gpu_warmup(settings, options_.power, round_of(context.order), readers_of(context.order.point.placement));
  TimingCounter counter(context.heartbeat);
  std::optional<TimingLog> log;  // large, and most warm-ups keep nothing
  if (options_.power == PowerAsked::sustained) log.emplace(context.heartbeat);
  Failures failures([&heartbeat = context.heartbeat] { heartbeat.beat(); });
  Traffic traffic = traffic_of(context, context.target, *rule, log ? static_cast<TimingSink&>(*log) : counter, failures);
  if (!settings.warmup) traffic.duration = settings.warmup_budget;
  scenario_->drive(traffic, context.clock, context.interrupted);
  const int64_t answered = log ? log->count() : counter.count();
  if (answered == 0 && failures.count() > 0)
    throw Error(ErrorKind::internal, fmt::format("every query of the warm-up failed: {}", failures.text()));
  if (log && log->dropped() == 0) before_ = at_the_limit(log->take());
  return {answered, rule->state() != Stopping::State::more ? rule->reason() : ""};
}

Traffic ScenarioDriver::traffic_of(const DriverContext& context, Target& target, Stopping& stopping, TimingSink& sink, Failures& failures) {
  Traffic traffic;
  traffic.target = &target;
  traffic.samples.assign(context.samples.begin(), context.samples.end());
  traffic.batch = context.order.point.batch;
  traffic.stopping = &stopping;
  traffic.sink = &sink;
  traffic.failures = &failures;
  return traffic;
}

// Forgets the warm-up, and the queries that lead to the window.
void ScenarioDriver::forget_what_came_before(const DriverContext& context) {
  if (context.dispatcher != nullptr) context.dispatcher->take_log();
  if (context.end_to_end != nullptr) context.end_to_end->take_log();
  filling_->meter.restart();
  if (filling_->urgent) filling_->urgent->restart();
  if (filling_->tokens) filling_->tokens->restart();
}

void ScenarioDriver::begin_slices(const DriverContext& context) {
  filling_.emplace(context, options_.dispatch.urgent, ending_of(context.order));
  forget_what_came_before(context);
}

// The frames are those of worker/turns.h:
//   ready  {"answers": sketch, "memory_bytes": peak}    peak: of this process so far
//   turn   {"pair": number, "slice_ns": length}         pair -1: to get going, and not kept
//   done   {"items_per_s": x, "seconds": length, "ended": whether the window is complete, "cpus_waiting": CPUs used between slices}
void ScenarioDriver::fill_in_slices(const DriverContext& context) {
  begin_slices(context);
  Waiting waiting(context.clock);
  const nlohmann::json ready{{"answers", sketch_to_json(context.answers)}, {"memory_bytes", host_memory_peak_bytes().value_or(0)}};
  context.turns->take_turns(ready, [&](const nlohmann::json& turn) {
    waiting.end();
    context.edge();
    nlohmann::json done = take_slice(context, turn);
    context.edge();
    // A short wait says nothing: threads that were busy a moment ago spin for a while.
    const bool waited = waiting.seconds() * 1e9 >= turn.at("slice_ns").get<double>() && !is_in_virtual_time(context.order.point);
    cpus_waiting_ = waited ? waiting.cpus() : 0;
    done["cpus_waiting"] = cpus_waiting_;
    waiting.begin();
    return Frame{{{"payload", std::move(done)}}, {}};
  });
}

nlohmann::json ScenarioDriver::take_slice(const DriverContext& context, const nlohmann::json& turn) {
  Filling& filling = *filling_;
  const Traffic traffic = traffic_of(context, filling.meter, *filling.ending.rule, filling.log, filling.failures);
  const auto length = turn.at("slice_ns").get<Nanoseconds>();
  const SlicedWindow::Gave gave =
      filling.sliced.take(*scenario_, traffic, context.clock, context.interrupted, length, turn.at("pair").get<int64_t>());
  bool ended = filling.ending.rule->state() != Stopping::State::more;
  const Nanoseconds warmed = warmed_in_slices_ + filling.sliced.length();
  if (ended && !stopping_.warmup && warmed < stopping_.warmup_budget && filling.ending.rule->verdict().warming) {
    warmed_in_slices_ = warmed;
    begin_slices(context);
    ended = false;
  }
  return {{"items_per_s", gave.items_per_s}, {"seconds", gave.seconds}, {"ended", ended}};
}

// Tenants and ranks share one window, and a number of queries that was asked for is that number.
bool ScenarioDriver::window_may_grow(const WorkOrder& order) const {
  const std::string& rule = stopping_.name;
  return options_.bound && has_window_of_its_own(order) && rule != "counts" && rule != "schedule";
}

Ending ScenarioDriver::ending_of(const WorkOrder& order) const {
  StoppingSettings settings = stopping_;
  if (options_.power == PowerAsked::burst) settings = burst_settings(settings);
  const double rate = offered_rate(order.point);
  if (window_may_grow(order)) settings = grown_settings(settings, *options_.bound, rate, bound_rule());
  // The most demanding of several bounds on tokens says how many requests are needed.
  for (const LatencyBound& bound : options_.token_bounds)
    if (rate > 0 && has_window_of_its_own(order) && settings.name == "duration")
      settings = grown_settings(settings, bound, rate, bound_rule());
  Ending ending;
  if (settings.name == "duration") ending.duration = settings.duration.value_or(never);
  if (has_window_of_its_own(order)) ending.lead = scenario_->lead(ending.duration);
  ending.rule = make_stopping(settings, round_of(order));
  if (options_.ends_when_hopeless && options_.bound && ending.duration != never)
    ending.rule = until_hopeless(std::move(ending.rule), *options_.bound, ending.duration, rate);
  if (window_may_grow(order) && rate == 0) {
    const Nanoseconds most = longest_window(settings, *options_.bound, options_.peak_search, pause_between_queries(order.point));
    ending.rule = until_decided(std::move(ending.rule), *options_.bound, most, bound_rule());
    if (ending.duration != never) ending.duration = most;
  }
  return ending;
}

// A closed loop that goes on until an interval is reached can be cut: its queries so far are what a shorter budget would have left. An open
// loop's end is a part of its schedule.
bool ScenarioDriver::can_be_cut() const {
  constexpr int64_t fewest_queries = 10;
  constexpr Nanoseconds shortest = 500'000'000;
  const TimingLog& log = filling_->log;
  return stopping_.name == "interval" && filling_->offered.length == 0 && log.count() >= fewest_queries &&
         log.end() - log.begin() >= shortest;
}

namespace {

// It was the user who ended the window, for whatever reason, so no interval is reached: it is as found at best, unless a bound is held.
void tell_of_cut(Nanoseconds length, bool bounded, Measured& measured) {
  const std::string by = fmt::format("ended by the user after {}", format_duration(length));
  measured.facts["stopping"] = by;
  if (measured.verdict == Verdict::unstable) measured.reason += "; " + by;
  if (measured.verdict == Verdict::valid && !bounded) {
    measured.verdict = Verdict::as_found;
    measured.facts["as_found"] = by;
  }
}

void keep_slices(const SlicedWindow& sliced, double cpus_waiting, Measured& measured) {
  measured.slices = sliced.slices();
  measured.series = sliced.series();
  measured.facts["interleaved.slices"] = static_cast<int64_t>(sliced.slices().size());
  measured.facts["interleaved.left_out"] = sliced.left_out();
  measured.facts["interleaved.cpus_while_waiting"] = cpus_waiting;
}

// Two swings of a GPU's clock are too few to know their mean by, so the interval is that of the stretches before the window, too.
void keep_stretches(std::span<const Timing> before, Measured& measured) {
  const auto found = scatter_of_stretches(before, measured.timings);
  if (!found) return;
  set_interval(*found, measured.estimates["throughput"]);
  measured.facts["throughput.stretches"] = found->count;
}

}  // namespace

Measured ScenarioDriver::measured(const DriverContext& context) {
  Filling& filling = *filling_;
  if (filling.burst && filling.log.count() == 0) throw_empty_burst();
  Measured measured;
  if (filling.log.count() > 0) measured.window = window_of(filling.log, filling.offered);
  measured.estimates = filling.meter.estimates();
  if (context.end_to_end != nullptr) keep_stage_log(context.end_to_end->take_log(), measured);
  if (filling.urgent) measured.estimates.merge(filling.urgent->estimates());
  measured.estimates.merge(load_estimates(filling.offered));
  measured.estimates.merge(filling.log.estimates_of_all());
  measured.estimates["throughput"] = over_window(filling.ending.rule->throughput(), filling.log, measured.window);
  const std::string why_shed = keep_dispatch(context.dispatcher, options_.dispatch, measured);
  const LatencySummary latencies = filling.log.summarize(options_.bound, shed_queries(measured));
  if (options_.bound && latencies.count > 0)
    measured.estimates["missed_share"] = {
        static_cast<double>(latencies.missed) / static_cast<double>(latencies.count), {}, {}, latencies.count};
  const std::string failed = keep_failures(filling.failures, filling.log.count(), options_.failed_allowed, measured);
  const Judgement judgement =
      judge_window({*filling.ending.rule, filling.offered, options_.bound, bound_rule(), latencies, why_shed, failed, asks_of_latency()});
  measured.verdict = judgement.verdict;
  measured.reason = judgement.reason;
  if (judgement.verdict == Verdict::as_found) measured.facts["as_found"] = judgement.as_found;
  if (judgement.only_wide) measured.facts[wide_interval_fact] = true;
  measured.facts["stopping"] = ending_text(*filling.ending.rule);
  if (filling.burst) keep_burst(filling.burst->window, measured.facts);
  if (context.order.interleaved) keep_slices(filling.sliced, cpus_waiting_, measured);
  const Nanoseconds own_length = context.order.interleaved ? filling.sliced.length() : filling.log.end() - filling.log.begin();
  if (was_cut(context)) tell_of_cut(own_length, options_.bound.has_value(), measured);
  measured.timings_dropped = filling.log.dropped();
  measured.timings = filling.log.take();
  if (stopping_.name == "duration" && measured.timings_dropped == 0) keep_stretches(before_, measured);
  const std::vector<Series> marks = filling.meter.series(measured.timings);
  measured.series.insert(measured.series.end(), marks.begin(), marks.end());
  if (filling.tokens) {
    const std::vector<Series> tokens = token_series(filling.tokens->streams(measured.timings));
    measured.series.insert(measured.series.end(), tokens.begin(), tokens.end());
  }
  filling_.reset();
  return measured;
}

}  // namespace

std::unique_ptr<WorkloadDriver> make_scenario_driver(const Point& point, PointOptions options, StoppingSettings stopping) {
  auto scenario = scenario_of(point);
  scenario->parse(options.scenario);
  return std::make_unique<ScenarioDriver>(std::move(scenario), std::move(options), std::move(stopping));
}

}  // namespace deepgap
