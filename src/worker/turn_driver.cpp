#include "worker/turn_driver.h"

#include "record/load_axis.h"
#include "record/point_option.h"
#include "record/task_traits.h"
#include "scenario/turn.h"
#include "worker/mark_meter.h"
#include "worker/point_options.h"
#include "worker/stage_record.h"
#include "worker/timing_log.h"
#include "worker/token_meter.h"
#include "worker/waiting.h"

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace deepgap {
namespace {

// Passes the timings of one turn on.
struct KeptTimings final : TimingSink {
  explicit KeptTimings(TimingSink& next) : next(next) {}
  void add(const Timing& timing) override {
    timings.push_back(timing);
    next.add(timing);
  }
  TimingSink& next;
  std::vector<Timing> timings;
};

// All turns of one contender.
struct Turned {
  explicit Turned(const DriverContext& context)
      : log(context.heartbeat),
        meter(task_traits(context.order.point.task).tokens ? static_cast<Target&>(tokens.emplace(context.target)) : context.target),
        waiting(context.clock),
        virtual_time(is_in_virtual_time(context.order.point)) {}
  TimingLog log;
  std::optional<TokenMeter> tokens;  // for queries that generate
  MarkMeter meter;
  std::vector<TokenStream> streams;
  Waiting waiting;
  bool virtual_time;
  RatioSeries cycles;  // seconds over items, an observation a turn
  Series throughput{"duel", "throughput", "items/s", false, {}, {}}, pairs{"duel", "pair", "1", false, {}, {}};
  int64_t turns = 0, left_out = 0;
  bool is_slow = false;  // a query is longer than a turn: caches are warm again before it ends
};

class TurnDriver final : public WorkloadDriver {
 public:
  TurnDriver(std::unique_ptr<WorkloadDriver> warm_up, std::unique_ptr<Scenario> scenario)
      : warm_up_(std::move(warm_up)), scenario_(std::move(scenario)) {}

  std::string unit() const override { return warm_up_->unit(); }
  std::string window() const override { return "turns"; }
  int64_t in_flight() const override { return warm_up_->in_flight(); }
  bool uses_all_slots() const override { return warm_up_->uses_all_slots(); }
  bool judges_accuracy() const override { return false; }
  WarmedUp warm_up(const DriverContext& context) override { return warm_up_->warm_up(context); }
  void fill(const DriverContext& context) override;
  Measured measured(const DriverContext& context) override;

 private:
  nlohmann::json take(const DriverContext& context, int64_t pair, Nanoseconds slice);

  std::unique_ptr<WorkloadDriver> warm_up_;
  std::unique_ptr<Scenario> scenario_;
  std::optional<Turned> turned_;
};

void TurnDriver::fill(const DriverContext& context) {
  turned_.emplace(context);
  if (context.end_to_end != nullptr) context.end_to_end->take_log();  // that of the warm-up
  // A reading of a GPU costs milliseconds.
  const auto edge = [&context] {
    if (context.order.point.placement.devices.front().kind == "cpu") context.edge();
  };
  context.turns->take_turns({{"answers", sketch_to_json(context.answers)}}, [&](const nlohmann::json& turn) {
    turned_->waiting.end();
    edge();
    nlohmann::json gave = take(context, turn.at("pair").get<int64_t>(), turn.at("slice_ns").get<Nanoseconds>());
    edge();
    turned_->waiting.begin();
    return Frame{{{"payload", std::move(gave)}}, {}};
  });
}

nlohmann::json TurnDriver::take(const DriverContext& context, int64_t pair, Nanoseconds slice) {
  Turned& turned = *turned_;
  TimingCounter ignored(context.heartbeat);
  KeptTimings kept(turned.log);
  if (turned.tokens) turned.tokens->restart();
  Turn turn(slice, !turned.is_slow, pair < 0 ? static_cast<TimingSink&>(ignored) : kept);
  Traffic traffic;
  traffic.target = &turned.meter;
  traffic.samples.assign(context.samples.begin(), context.samples.end());
  traffic.batch = context.order.point.batch;
  traffic.stopping = &turn;
  traffic.sink = &turn;
  scenario_->drive(traffic, context.clock, context.interrupted);
  if (turned.tokens)
    for (TokenStream& stream : turned.tokens->streams(kept.timings)) turned.streams.push_back(std::move(stream));
  turned.is_slow = turn.queries() > 0 && turn.seconds() * 1e9 / static_cast<double>(turn.queries()) >= static_cast<double>(slice);
  const double items_per_s = turn.throughput().value;
  nlohmann::json gave{{"items_per_s", items_per_s}, {"seconds", turn.whole_seconds()}};
  if (pair < 0 || !(items_per_s > 0)) return gave;
  turned.cycles.add(turn.seconds(), static_cast<double>(turn.items()));
  for (Series* series : {&turned.throughput, &turned.pairs}) series->times.push_back(turn.end());
  turned.throughput.values.push_back(items_per_s);
  turned.pairs.values.push_back(static_cast<double>(pair));
  ++turned.turns;
  turned.left_out += turn.left_out();
  return gave;
}

Estimate throughput_of(const RatioSeries& cycles) {
  const auto seconds = cycles.estimate();
  Estimate estimate{cycles.sum_x() / cycles.sum_y(), {}, {}, cycles.count()};
  if (!seconds || seconds->interval().low <= 0) return estimate;
  estimate.low = 1 / seconds->interval().high;
  estimate.high = 1 / seconds->interval().low;
  return estimate;
}

Measured TurnDriver::measured(const DriverContext& context) {
  Turned& turned = *turned_;
  Measured measured;
  if (turned.log.count() > 0) measured.window = {window(), turned.log.begin(), turned.log.end()};
  measured.estimates = turned.meter.estimates();
  if (context.end_to_end != nullptr) keep_stage_log(context.end_to_end->take_log(), measured);
  measured.estimates.merge(turned.log.estimates_of_all());
  if (turned.turns > 0) measured.estimates["throughput"] = throughput_of(turned.cycles);
  measured.facts["duel.turns"] = turned.turns;
  measured.facts["duel.left_out"] = turned.left_out;
  if (!turned.virtual_time && turned.waiting.seconds() > 0) measured.facts["duel.cpus_while_waiting"] = turned.waiting.cpus();
  measured.series = {std::move(turned.throughput), std::move(turned.pairs)};
  measured.timings_dropped = turned.log.dropped();
  measured.timings = turned.log.take();
  const std::vector<Series> tokens = token_series(turned.streams);
  measured.series.insert(measured.series.end(), tokens.begin(), tokens.end());
  turned_.reset();
  return measured;
}

}  // namespace

std::unique_ptr<WorkloadDriver> make_turn_driver(std::unique_ptr<WorkloadDriver> warm_up, std::unique_ptr<Scenario> scenario) {
  return std::make_unique<TurnDriver>(std::move(warm_up), std::move(scenario));
}

}  // namespace deepgap
