#include "worker/loaded_order.h"

#include "base/rounding.h"
#include "base/text.h"
#include "scenario/end_to_end_target.h"
#include "telemetry/environment.h"
#include "worker/kept_sessions.h"
#include "worker/picture_preparer.h"
#include "worker/process_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace deepgap {
namespace {

// Returns the streams that the engine is given: native.streams=4 goes before streams.
int64_t asked_streams(const PointOptions& options) {
  const auto own = options.backend.find("streams");
  const auto count = own == options.backend.end() ? std::nullopt : parse_int(own->second);
  return count.value_or(options.streams);
}

// Queries that a closed loop keeps in flight lie in the Sessions, unless they are to wait for a batch to fill or to be decoded.
int64_t slots_of_a_session(const Point& point, const PointOptions& options, int64_t in_flight) {
  const auto sessions = static_cast<int64_t>(instance_loads(point, options.dispatch).size());
  if (options.end_to_end.on()) return options.streams;
  if (options.dispatch.max_batch.value_or(point.batch) > point.batch) return options.streams;
  return std::max(options.streams, divide_up(in_flight, sessions));
}

LoadOptions load_options(const OrderContext& context) {
  const WorkOrder& order = context.order;
  const PointOptions& options = context.prepared.options;
  LoadOptions load{engine_request(order.point, options)};
  load.slots = static_cast<int>(slots_of_a_session(order.point, options, context.prepared.driver->in_flight()));
  load.cache_dir = order.cache_dir;
  load.clock = &context.clock;
  load.train.rank = order.rank;
  load.train.ranks = order.ranks;
  load.exchange = [&turns = context.turns](const std::string& said) { return exchange_with_ranks(turns, said); };
  return load;
}

}  // namespace

LoadedOrder::LoadedOrder(const OrderContext& context, Backend& backend)
    : order_(context.order), prepared_(context.prepared), inputs_(context.inputs), clock_(context.clock), group_(context.group) {
  const LoadOptions options = load_options(context);
  key_ = sessions_key(context, options);
  taken_ = group_.take_sessions(key_);
  if (taken_ != nullptr) {
    instances_.emplace(std::move(taken_->instances));
    compile_s_ = taken_->compile_s;
    affinity_ = taken_->affinity;
  } else {
    load(context, backend, options);
  }
  if (!prepared_.options.end_to_end.on()) instances_->load(inputs_.samples);
}

LoadedOrder::~LoadedOrder() = default;

void LoadedOrder::load(const OrderContext& context, Backend& backend, const LoadOptions& options) {
  const Nanoseconds begin = clock_.now();
  instances_.emplace(SessionsToLoad{.backend = backend,
                                    .model = *inputs_.engine_model,
                                    .dataset = session_inputs(),
                                    .point = order_.point,
                                    .options = prepared_.options.dispatch,
                                    .common = options,
                                    .beat = [&heartbeat = context.heartbeat] { heartbeat.beat(); }});
  compile_s_ = static_cast<double>(clock_.now() - begin) / 1e9;
  affinity_ = affinity_of_this_thread();
}

const SessionsCheck* LoadedOrder::known_check() const { return taken_ == nullptr ? nullptr : &taken_->checked; }

void LoadedOrder::keep(SessionsCheck checked) {
  if (key_.empty()) return;
  instances_->part();
  group_.keep_sessions(
      std::make_unique<KeptSessions>(KeptSessions{key_, std::move(*instances_), compile_s_, affinity_, std::move(checked)}));
  instances_.reset();
}

// Adds up the parts of all Sessions, as compile_s does.
Facts LoadedOrder::load_parts() {
  std::map<std::string, double> parts;
  for (const Instances::Instance& instance : instances_->all())
    for (const auto& [name, ns] : instance.session->load_parts()) parts[name] += static_cast<double>(ns) / 1e9;
  Facts facts;
  for (const auto& [name, seconds] : parts) facts["compile." + name + "_s"] = seconds;
  return facts;
}

Facts LoadedOrder::facts() {
  Facts facts = load_parts();
  facts["session.shared"] = taken_ != nullptr;
  facts["session.slots"] = static_cast<int64_t>(instances_->all().front().session->slots());
  facts["cpus.affinity"] = affinity_;
  if (const std::string note = streams_note(); !note.empty()) facts["streams.note"] = note;
  if (prepared_.options.end_to_end.on()) {
    facts["end_to_end.decode_threads"] = static_cast<int64_t>(decode_threads_of(order_.point, prepared_.options));
    facts["end_to_end.lanes"] = pipeline_slots_of(order_.point, prepared_.options);
  }
  return facts;
}

// Returns what keeps streams from doing what they are for; empty: nothing.
std::string LoadedOrder::streams_note() {
  const auto sessions = static_cast<int64_t>(instances_->all().size());
  const int64_t streams = asked_streams(prepared_.options) * sessions;
  const int64_t slots = instances_->all().front().session->slots() * sessions;
  const int64_t in_flight = prepared_.driver->uses_all_slots() ? slots : prepared_.driver->in_flight();
  const size_t cpus = allowed_cpus().size();
  if (streams <= 1) return {};
  if (streams > static_cast<int64_t>(cpus)) return fmt::format("{} streams share {} CPUs", streams, cpus);
  if (streams > in_flight) return fmt::format("{} of {} streams are kept busy: in_flight is {}", in_flight, streams, in_flight);
  return {};
}

Dataset& LoadedOrder::session_inputs() {
  if (!prepared_.options.end_to_end.on()) return *inputs_.dataset;
  const TensorView item = inputs_.dataset->sample(inputs_.samples.front()).front();
  const int64_t pipeline_slots = pipeline_slots_of(order_.point, prepared_.options);
  return input_buffers_.emplace(item,
                                std::max(pipeline_slots * order_.point.batch, largest_batch(order_.point, prepared_.options.dispatch)));
}

// The Target itself; end to end, one around it whose queries begin with picture files.
Target& LoadedOrder::fed(Target& target, int64_t pipeline_slots, int64_t batch) {
  if (!prepared_.options.end_to_end.on()) return target;
  const int threads = decode_threads_of(order_.point, prepared_.options);
  auto preparer = std::make_unique<PicturePreparer>(*picture_source(*inputs_.dataset), threads, clock_);
  const EndToEndSettings settings{pipeline_slots, batch, prepared_.driver->in_flight()};
  end_to_end_ = make_end_to_end_target(target, *input_buffers_, std::move(preparer), settings, clock_);
  return *end_to_end_;
}

Target& LoadedOrder::alone(const Instances::Instance& instance) {
  return fed(*instance.target, 1, largest_batch(order_.point, prepared_.options.dispatch));
}

Target& LoadedOrder::join() {
  const DispatcherSettings settings = dispatcher_settings(order_.point, prepared_.options.dispatch, prepared_.driver->in_flight());
  return fed(instances_->join(settings, clock_), pipeline_slots_of(order_.point, prepared_.options), order_.point.batch);
}

}  // namespace deepgap
