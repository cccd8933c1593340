#include "worker/run_graph.h"

#include "base/clocks.h"
#include "base/text.h"
#include "model/eval/evaluator.h"
#include "worker/plugin.h"

#include <deepgap/backend.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace deepgap {
namespace {

std::vector<TensorView> views_of(const std::vector<Tensor>& tensors) {
  std::vector<TensorView> views;
  for (const Tensor& tensor : tensors) views.push_back(tensor.view());
  return views;
}

}  // namespace

int64_t fixed_batch(const GraphSummary& summary) {
  if (summary.inputs.empty() || !summary.inputs.front().dims || summary.inputs.front().dims->empty()) return 1;
  const Dim& first = summary.inputs.front().dims->front();
  return first.known() ? std::max<int64_t>(first.size, 1) : 1;
}

Tensor copy_of(const TensorView& view) {
  Tensor copy = make_tensor(view.type, Shape(view.shape.begin(), view.shape.end()));
  if (view.bytes() > 0) std::memcpy(writable<std::byte>(copy).data(), view.data, view.bytes());
  return copy;
}

Tensor borrowed(const TensorView& view) {
  return {view.type, Shape(view.shape.begin(), view.shape.end()), std::shared_ptr<const std::byte>(view.data, [](const std::byte*) {})};
}

Tensor repeated(const TensorView& sample, int64_t batch) {
  Shape shape(sample.shape.begin(), sample.shape.end());
  const int64_t times = shape.empty() ? 1 : batch;
  if (times > 1) shape.front() = batch;
  Tensor result = make_tensor(sample.type, std::move(shape));
  for (int64_t i = 0; i < times && sample.bytes() > 0; ++i)
    std::memcpy(writable<std::byte>(result).data() + static_cast<size_t>(i) * sample.bytes(), sample.data, sample.bytes());
  return result;
}

void require_options(const Backend& backend, const std::map<std::string, std::string>& given) {
  std::vector<std::string> known;
  for (const OptionInfo& option : backend.options()) known.push_back(option.name);
  for (const auto& [name, value] : given)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw Error(ErrorKind::usage, unknown_name(fmt::format("option of {}", backend.name()), name, known));
}

void require_support(Backend& backend, const EngineChoice& engine, const Model& model) {
  Point point;
  point.model = model.name();
  point.backend = engine.backend;
  point.placement.devices = {engine.device};
  point.precision = engine.precision;
  point.threads = engine.threads;
  point.options = engine.options;
  const Support support = backend.supports(point, model.summary());
  if (!support.ok) throw Error(ErrorKind::refused, support.reason);
}

LoadOptions load_options(const EngineChoice& engine, int64_t batch, Clock& clock) {
  LoadOptions options;
  options.placement.devices = {engine.device};
  options.precision = engine.precision;
  options.batch_sizes = {batch};
  options.threads = engine.threads;
  options.cache_dir = engine.cache_dir;
  options.options = engine.options;
  options.clock = &clock;
  return options;
}

std::string run_on_engine(const EngineChoice& engine, const Model& model, std::span<const std::vector<TensorView>> samples,
                          const SampleReceiver& receive) {
  const auto plugin = open_plugin(engine.backend);
  require_options(plugin->backend(), engine.options);
  require_support(plugin->backend(), engine, model);
  const auto clock = make_real_clock();
  const int64_t batch = fixed_batch(model.summary());
  LoadOptions options = load_options(engine, batch, *clock);
  Status status = Status::ok;
  options.completion = [&](std::span<const Done> done) { status = done.back().status; };
  const auto session = plugin->backend().load(model, options);
  session->stage(samples);
  for (uint32_t position = 0; position < samples.size(); ++position) {
    const std::vector<uint32_t> items(static_cast<size_t>(batch), position);
    session->enqueue(0, items, position);
    session->drain();
    if (status != Status::ok) throw Error(ErrorKind::refused, fmt::format("{} failed: {}", engine.backend, session->last_error()));
    receive(position, session->outputs(0));
  }
  return fmt::format("{} {}", engine.backend, plugin->backend().version());
}

std::string run_on_evaluator(const Model& model, std::span<const std::vector<TensorView>> samples, const SampleReceiver& receive) {
  const int64_t batch = fixed_batch(model.summary());
  for (size_t position = 0; position < samples.size(); ++position) {
    std::vector<Tensor> inputs;
    for (const TensorView& view : samples[position]) inputs.push_back(batch == 1 ? borrowed(view) : repeated(view, batch));
    receive(position, views_of(evaluate(model.graph(), inputs)));
  }
  return evaluator_name;
}

namespace {

// `second`, which is told the refusal, where `first` refuses before it gave anything to its receiver.
template <typename First, typename Second>
std::string first_or(const First& first, const Second& second, const SampleReceiver& receive) {
  bool begun = false;
  std::string refusal;
  try {
    return first([&](size_t position, std::span<const TensorView> outputs) {
      begun = true;
      receive(position, outputs);
    });
  } catch (const Error& error) {
    if (begun || error.kind() != ErrorKind::refused) throw;
    refusal = error.what();
  }
  return second(receive, refusal);
}

}  // namespace

std::string run_reference(const Model& model, int threads, std::span<const std::vector<TensorView>> samples,
                          const SampleReceiver& receive) {
  EngineChoice other;
  other.backend = "onnxruntime";
  other.threads = threads;
  const auto by_other = [&](const SampleReceiver& to, const std::string& refusal) {
    try {
      return run_on_engine(other, model, samples, to);
    } catch (const Error& error) {
      throw Error(ErrorKind::refused,
                  fmt::format("the plain evaluator cannot run it ({}), nor can onnxruntime ({})", refusal, error.what()));
    }
  };
  return first_or([&](const SampleReceiver& to) { return run_on_evaluator(model, samples, to); }, by_other, receive);
}

std::string run_fp32(const Model& model, int threads, std::span<const std::vector<TensorView>> samples, const SampleReceiver& receive) {
  EngineChoice native;
  native.threads = threads;
  return first_or([&](const SampleReceiver& to) { return run_on_engine(native, model, samples, to); },
                  [&](const SampleReceiver& to, const std::string&) { return run_on_evaluator(model, samples, to); }, receive);
}

}  // namespace deepgap
