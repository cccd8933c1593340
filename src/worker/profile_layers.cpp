#include "worker/profile_layers.h"

#include "base/clocks.h"
#include "kernels/cpu_counters.h"
#include "model/graph_tools.h"
#include "model/layer_work.h"
#include "worker/batch_runner.h"
#include "worker/plugin.h"
#include "worker/quicker_half.h"
#include "worker/request_json.h"
#include "worker/run_graph.h"
#include "worker/watch_device.h"

#include <deepgap/backend.h>
#include <deepgap/batching.h>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace deepgap {
namespace {

struct Round {
  Nanoseconds plain = 0;
  std::vector<LayerTiming> layers;

  Nanoseconds total() const {
    return std::accumulate(layers.begin(), layers.end(), Nanoseconds{0}, [](Nanoseconds sum, const LayerTiming& l) { return sum + l.ns; });
  }
};
using Rounds = std::vector<Round>;

void require_same_layers(const Round& a, const Round& b) {
  const auto same = [](const LayerTiming& x, const LayerTiming& y) { return x.name == y.name; };
  if (!std::equal(a.layers.begin(), a.layers.end(), b.layers.begin(), b.layers.end(), same))
    throw Error(ErrorKind::refused, "the engine ran other layers in another round, so there are no times of each");
}

Rounds measure(BatchRunner& plain, BatchRunner& instrumented, int wanted) {
  for (int i = 0; i < profile_warm_up_runs; ++i) {
    plain.run();
    instrumented.run();
  }
  Rounds rounds;
  const Nanoseconds begin = plain.clock().now();
  for (int round = 0; !has_enough_rounds(round, wanted, plain.clock().now() - begin); ++round) {
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
    layer.ns = mean_of_quicker_half(rounds, total, [i](const Round& round) { return round.layers[i].ns; });
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

// Counts every thread that the engine has by now.
CpuCounts counted(BatchRunner& runner) {
  CpuCounters counters;
  counters.begin();
  runner.run();
  return counters.end();
}

// Records what it did on its device besides its time.
void watch(LayerProfile& profile, BatchRunner& runner, const ProfileRequest& request) {
  const BatchOnDevice batch{.plain = [&] { runner.run(); }, .layers = [&](const LayerMark& mark) { return runner.run_layers(mark); }};
  watch_device(profile, request.engine.device.index, request.count, batch);
  profile.whole_after_ns = time_rounds(runner, profile.rounds).mean;
}

}  // namespace

template <typename V>
void fields(V& visit, ProfileRequest& request) {
  visit("engine", request.engine);
  visit("batch", request.batch);
  visit("rounds", request.rounds);
  visit("watch", request.watch);
  visit("count", request.count);
}

nlohmann::json profile_request_to_json(const ProfileRequest& request) { return json_of(request); }
ProfileRequest profile_request_from_json(const nlohmann::json& json) {
  auto request = json_to<ProfileRequest>(json, "request for a profile");
  request.engine.model.cache_dir = request.engine.cache_dir;
  return request;
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
  BatchRunner plain(backend, model, options, opened.inputs);
  std::unique_ptr<BatchRunner> second;
  if (has_profile_option(backend)) {
    options.options["profile"] = "on";
    second = std::make_unique<BatchRunner>(backend, model, options, opened.inputs);
  }
  BatchRunner& instrumented = second ? *second : plain;
  instrumented.run();
  if (instrumented.layers().empty()) throw Error(ErrorKind::refused, fmt::format("{} reports no times of its layers", backend.name()));
  const Rounds rounds = measure(plain, instrumented, request.rounds);
  LayerProfile profile{
      .engine = fmt::format("{} {}", backend.name(), backend.version()), .batch = batch, .rounds = static_cast<int>(rounds.size())};
  const auto plainly = [](const Round& round) { return round.plain; };
  profile.whole_ns = mean_of_quicker_half(rounds, plainly, plainly);
  fill_work(profile, model, std::string(name_of(engine.precision)), rounds);
  if (engine.device.kind == "cpu") profile.cpu = counted(plain);
  if (engine.device.kind == "cuda" && request.watch) watch(profile, plain, request);
  return profile;
}

}  // namespace deepgap
