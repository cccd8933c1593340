#include "worker/profile_layers.h"

#include "base/clocks.h"
#include "base/text.h"
#include "kernels/align.h"
#include "kernels/cpu_counters.h"
#include "kernels/tracer.h"
#include "model/graph_tools.h"
#include "model/layer_work.h"
#include "worker/plugin.h"
#include "worker/run_graph.h"

#include <deepgap/backend.h>
#include <deepgap/batching.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

namespace deepgap {
namespace {

constexpr Nanoseconds budget = 5'000'000'000;
constexpr int fewest_rounds = 5, most_rounds = 100, warm_up_runs = 3;

// A loaded engine that runs one batch at a time.
class Runner {
 public:
  Runner(Backend& backend, const Model& model, LoadOptions options, std::span<const std::vector<TensorView>> inputs)
      : name_(backend.name()), clock_(*options.clock) {
    options.completion = [this](std::span<const Done> done) {
      end_ = clock_.now();
      if (done.back().error != nullptr) failure_ = *done.back().error;
    };
    for (int64_t i = 0; i < options.batch_sizes.front(); ++i) samples_.push_back(static_cast<uint32_t>(i) % inputs.size());
    session_ = backend.load(model, options);
    session_->stage(inputs);
  }

  // From handing it over to the engine's word that it is done.
  Nanoseconds run() {
    const Nanoseconds begin = clock_.now();
    session_->enqueue(0, samples_, 0);
    session_->drain();
    if (failure_) throw Error(ErrorKind::refused, fmt::format("{} failed: {}", name_, failure_->what()));
    return end_ - begin;
  }
  std::vector<LayerTiming> layers() { return session_->layer_timings(); }
  bool run_layers(const LayerMark& mark) { return session_->run_layers(mark); }
  Clock& clock() { return clock_; }

 private:
  std::string name_;
  Clock& clock_;
  std::vector<uint32_t> samples_;
  Nanoseconds end_ = 0;
  std::optional<Error> failure_;
  std::unique_ptr<Session> session_;  // last: its completion uses the rest
};

struct Round {
  Nanoseconds plain = 0;
  std::vector<LayerTiming> layers;

  Nanoseconds total() const {
    return std::accumulate(layers.begin(), layers.end(), Nanoseconds{0}, [](Nanoseconds sum, const LayerTiming& l) { return sum + l.ns; });
  }
};
using Rounds = std::vector<Round>;

// The mean of `value` over the half of the rounds in which `key` is least.
template <typename Key, typename Value>
Nanoseconds quicker_half(const Rounds& rounds, Key key, Value value) {
  std::vector<const Round*> order;
  for (const Round& round : rounds) order.push_back(&round);
  std::stable_sort(order.begin(), order.end(), [&](const Round* a, const Round* b) { return key(*a) < key(*b); });
  order.resize((order.size() + 1) / 2);
  Nanoseconds sum = 0;
  for (const Round* round : order) sum += value(*round);
  return sum / static_cast<Nanoseconds>(order.size());
}

void require_same_layers(const Round& a, const Round& b) {
  const auto same = [](const LayerTiming& x, const LayerTiming& y) { return x.name == y.name; };
  if (!std::equal(a.layers.begin(), a.layers.end(), b.layers.begin(), b.layers.end(), same))
    throw Error(ErrorKind::refused, "the engine ran other layers in another round, so there are no times of each");
}

Rounds measure(Runner& plain, Runner& instrumented, int wanted) {
  for (int i = 0; i < warm_up_runs; ++i) {
    plain.run();
    instrumented.run();
  }
  Rounds rounds;
  const Nanoseconds begin = plain.clock().now();
  const auto enough = [&](int done) {
    if (wanted > 0) return done >= wanted;
    return done >= most_rounds || (done >= fewest_rounds && plain.clock().now() - begin > budget);
  };
  for (int round = 0; !enough(round); ++round) {
    Round now{plain.run(), instrumented.layers()};
    if (!rounds.empty()) require_same_layers(rounds.front(), now);
    rounds.push_back(std::move(now));
  }
  return rounds;
}

void fill_work(LayerProfile& profile, const Model& model, const std::string& precision, const Rounds& rounds) {
  const auto total = [](const Round& round) { return round.total(); };
  const Graph bound = bind_symbols(model.graph(), {{batch_symbol, profile.batch}});
  std::vector<std::string> names, ops;
  const std::vector<LayerTiming>& layers = rounds.front().layers;
  for (const LayerTiming& layer : layers) {
    names.push_back(layer.name);
    ops.push_back(layer.op);
  }
  WorkOfLayers works = work_of_layers(bound, precision, names, ops);
  for (size_t i = 0; i < layers.size(); ++i) {
    const LayerWork& work = works.layers[i];
    ProfiledLayer layer{.name = layers[i].name, .op = layers[i].op, .precision = work.precision};
    layer.ns = quicker_half(rounds, total, [i](const Round& round) { return round.layers[i].ns; });
    const bool known = !work.nodes.empty();
    layer.macs = known ? work.macs : -1;
    layer.flop = known ? work.flop : -1;
    layer.bytes = known ? work.bytes : -1;
    for (const size_t node : work.nodes) {
      layer.nodes.push_back(bound.nodes[node].name);
      layer.operators.push_back(bound.nodes[node].op);
    }
    profile.layers.push_back(std::move(layer));
  }
  profile.left_over = std::move(works.left_over);
}

bool has_profile_option(const Backend& backend) {
  const auto options = backend.options();
  return std::any_of(options.begin(), options.end(), [](const OptionInfo& option) { return option.name == "profile"; });
}

// A layer's time is that of its kernels where nearly all of them are known to be some layer's: with a clock around each layer a small one
// takes as long as its launch. What it then lacks are the gaps between kernels, which are nobody's.
void take_times_of_kernels(LayerProfile& profile, double known) {
  constexpr double enough = 0.98;
  const Trace& trace = *profile.trace;
  const auto same = [](const ProfiledLayer& layer, const TracedLayer& traced) { return layer.name == traced.name; };
  if (known < enough || !std::equal(profile.layers.begin(), profile.layers.end(), trace.layers.begin(), trace.layers.end(), same)) return;
  for (ProfiledLayer& layer : profile.layers) layer.ns = 0;
  for (const Kernel& kernel : trace.kernels)
    if (kernel.layer >= 0) profile.layers[static_cast<size_t>(kernel.layer)].ns += kernel.ns();
  profile.times_of_kernels = true;
}

// Of every thread that the engine has by now.
CpuCounts counted(Runner& runner) {
  CpuCounters counters;
  counters.begin();
  runner.run();
  return counters.end();
}

// One batch with layers announced tells which kernels are whose; a plain one, as it is timed, what the device really does.
void watch(LayerProfile& profile, Runner& runner) {
  try {
    Tracer tracer;
    tracer.begin();
    const bool told = runner.run_layers([&](const std::string& name, const std::string& op) { tracer.announce(name, op); });
    const Trace announced = tracer.end();
    tracer.begin();
    runner.run();  // the first after watching began
    static_cast<void>(tracer.end());
    tracer.begin();
    runner.run();
    profile.trace = tracer.end();
    const double known = assign_layers(announced, *profile.trace);
    if (told) take_times_of_kernels(profile, known);
  } catch (const Error& error) {
    profile.trace.reset();
    profile.trace_missing = error.what();
  }
}

}  // namespace

nlohmann::json profile_request_to_json(const ProfileRequest& request) {
  return {
      {"engine", outputs_request_to_json(request.engine)}, {"batch", request.batch}, {"rounds", request.rounds}, {"watch", request.watch}};
}

ProfileRequest profile_request_from_json(const nlohmann::json& json) {
  return {outputs_request_from_json(json.at("engine")), json.at("batch"), json.at("rounds"), json.at("watch")};
}

LayerProfile profile_layers(const ProfileRequest& request) {
  const auto plugin = open_plugin(request.engine.backend);
  Backend& backend = plugin->backend();
  const EngineChoice engine = engine_of(request.engine);
  const CheckedInputs opened = open_checked(request.engine);
  const Model& model = *opened.engine_model;
  require_support(backend, engine, model);
  const Batching batching = batching_of(model.summary().inputs);
  const int64_t batch = request.batch == 0 ? batching.samples : request.batch;
  if (!batching.takes(batch)) throw Error(ErrorKind::refused, fmt::format("{} {}, not {}", model.name(), batching_text(batching), batch));
  const auto clock = make_real_clock();
  LoadOptions options = load_options(engine, batch, *clock);
  Runner plain(backend, model, options, opened.inputs);
  std::unique_ptr<Runner> second;
  if (has_profile_option(backend)) {
    options.options["profile"] = "on";
    second = std::make_unique<Runner>(backend, model, options, opened.inputs);
  }
  Runner& instrumented = second ? *second : plain;
  instrumented.run();
  if (instrumented.layers().empty()) throw Error(ErrorKind::refused, fmt::format("{} tells no times of its layers", backend.name()));
  const Rounds rounds = measure(plain, instrumented, request.rounds);
  LayerProfile profile{
      .engine = fmt::format("{} {}", backend.name(), backend.version()), .batch = batch, .rounds = static_cast<int>(rounds.size())};
  const auto plainly = [](const Round& round) { return round.plain; };
  profile.whole_ns = quicker_half(rounds, plainly, plainly);
  fill_work(profile, model, std::string(name_of(engine.precision)), rounds);
  if (engine.device.kind == "cpu") profile.cpu = counted(plain);
  if (engine.device.kind == "cuda" && request.watch) watch(profile, plain);
  return profile;
}

}  // namespace deepgap
