#include "training/profile_step.h"

#include "base/clocks.h"
#include "model/train_work.h"
#include "worker/batch_runner.h"
#include "worker/plugin.h"
#include "worker/task_work.h"
#include "worker/watch_device.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace deepgap {
namespace {

constexpr const char* graph_option = "cuda_graph";

LoadOptions load_options_of(const Point& point, const PointOptions& options, const ProfileRequest& request, Clock& clock) {
  LoadOptions load{engine_request(point, options)};
  load.placement.devices = {request.engine.device};
  load.batch_sizes = {point.batch};
  load.inputs = InputPlace::host;
  load.cache_dir = request.engine.cache_dir;
  load.clock = &clock;
  return load;
}

bool makes_graphs(const Backend& backend, const LoadOptions& load) {
  const auto declared = backend.options();
  const auto option = std::find_if(declared.begin(), declared.end(), [](const OptionInfo& one) { return one.name == graph_option; });
  if (option == declared.end()) return false;
  const auto given = load.options.find(graph_option);
  return (given == load.options.end() ? option->default_value : given->second) == "on";
}

// Adds what the graph says about a step; this is not known for every network.
void tell_work(LayerProfile& profile, const Model& model, const TrainSettings& train) {
  const TrainWork work = train_work(model.graph(), train);
  if (work.passes_flop < 0 || work.passes_bytes < 0) return;
  profile.step_flop = work.passes_flop * profile.batch + work.update_flop;
  profile.step_bytes = work.passes_bytes * profile.batch + work.update_bytes;
}

// `one_by_one`: the same without CUDA graphs; may be null.
BatchOnDevice step_on_device(BatchRunner& plain, BatchRunner* one_by_one) {
  return {.plain = [&plain] { plain.run(); },
          .layers =
              [one_by_one](const LayerMark& /*a step's layers are not told*/) {
                if (one_by_one != nullptr) one_by_one->run();
                return one_by_one != nullptr;
              },
          .before =
              [&plain, one_by_one] {
                plain.reset();
                if (one_by_one != nullptr) one_by_one->reset();
              }};
}

}  // namespace

LayerProfile profile_step(const Point& point, const PointOptions& options, const ProfileRequest& request) {
  const auto plugin = open_plugin(point.backend);
  Backend& backend = plugin->backend();
  const CheckedInputs opened = open_checked(request.engine);
  const Model& model = *opened.engine_model;
  const auto samples = task_work(point).targeted(*opened.dataset, model.summary().outputs, options);
  samples->load(opened.samples);
  std::vector<std::vector<TensorView>> inputs;
  for (const uint32_t sample : opened.samples) inputs.push_back(samples->sample(sample));
  const auto clock = make_real_clock();
  LoadOptions load = load_options_of(point, options, request, *clock);
  require(backend.supports(load, model.summary()));
  BatchRunner plain(backend, model, load, inputs);
  LayerProfile profile{.engine = fmt::format("{} {}", backend.name(), backend.version()), .batch = point.batch};
  tell_work(profile, model, options.train);
  const TimedRounds steps = time_rounds(plain, request.rounds);
  profile.whole_ns = steps.mean;
  profile.rounds = steps.rounds;
  if (request.engine.device.kind != "cuda" || !request.watch) return profile;
  std::unique_ptr<BatchRunner> one_by_one;
  if (makes_graphs(backend, load)) {
    load.options[graph_option] = "off";
    one_by_one = std::make_unique<BatchRunner>(backend, model, load, inputs);
  }
  watch_device(profile, request.engine.device.index, request.count, step_on_device(plain, one_by_one.get()));
  profile.whole_after_ns = time_rounds(plain, profile.rounds).mean;
  return profile;
}

}  // namespace deepgap
