#include "worker/run_graph.h"

#include "base/clocks.h"
#include "base/option_values.h"
#include "base/words.h"
#include "model/eval/element_types.h"
#include "model/eval/evaluator.h"
#include "model/model_of.h"
#include "model/widened_graph.h"
#include "worker/load_session.h"
#include "worker/plugin.h"
#include "worker/point_options.h"
#include "worker/rounding_watch.h"
#include "worker/task_work.h"

#include <deepgap/backend.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace deepgap {
namespace {

std::vector<TensorView> views_of(const std::vector<Tensor>& tensors) {
  std::vector<TensorView> views;
  for (const Tensor& tensor : tensors) views.push_back(tensor.view());
  return views;
}

// Each of `parts` is one part of the result along its first dimension; all have the shape of the first.
Tensor joined(std::span<const TensorView> parts) {
  const TensorView& first = parts.front();
  Shape shape(first.shape.begin(), first.shape.end());
  shape.at(0) *= static_cast<int64_t>(parts.size());
  Tensor result = make_tensor(first.type, std::move(shape));
  std::byte* to = writable<std::byte>(result).data();
  for (const TensorView& part : parts) {
    if (part.type != first.type || part.bytes() != first.bytes())
      throw Error(ErrorKind::input, "samples of one query differ in type or shape");
    if (part.bytes() > 0) std::memcpy(to, part.data, part.bytes());
    to += part.bytes();
  }
  return result;
}

// Returns the samples in a query with such inputs; 1 where the batch does not divide it.
int64_t samples_in(const std::vector<TensorInfo>& inputs, const std::vector<TensorView>& query) {
  const Batching batching = batching_of(inputs);
  if (batching.kind == Batching::Kind::whole) return 1;
  if (batching.kind == Batching::Kind::fixed) return batching.samples;
  return query.front().shape.front() / std::max<int64_t>(inputs.front().dims->front().size, 1);
}

}  // namespace

QuerySamples::QuerySamples(const std::vector<TensorInfo>& inputs, const std::vector<TensorView>& query) {
  if (query.size() != inputs.size())
    throw Error(ErrorKind::input, fmt::format("a query has {} tensors, the model {} inputs", query.size(), inputs.size()));
  const int64_t count = samples_in(inputs, query);
  for (const TensorView& view : query) {
    shapes_.emplace_back(view.shape.begin(), view.shape.end());
    if (count > 1) shapes_.back().front() /= count;
  }
  for (int64_t sample = 0; sample < count; ++sample) {
    samples_.emplace_back();
    for (size_t i = 0; i < query.size(); ++i) {
      TensorView view{query[i].type, shapes_[i], query[i].data};
      view.data += static_cast<size_t>(sample) * view.bytes();
      samples_.back().push_back(view);
    }
  }
}

Queries::Queries(const Batching& batching, std::span<const std::vector<TensorView>> samples) {
  if (batching.samples == 1) {
    inputs_.assign(samples.begin(), samples.end());
    return;
  }
  const auto each = static_cast<size_t>(batching.samples);
  for (size_t first = 0; first < samples.size(); first += each) {
    std::vector<Tensor> query;
    for (size_t input = 0; input < samples.front().size(); ++input) {
      std::vector<TensorView> parts;
      for (size_t i = 0; i < each; ++i) parts.push_back(samples[(first + i) % samples.size()][input]);
      query.push_back(joined(parts));
    }
    joined_.push_back(std::move(query));
    inputs_.push_back(views_of(joined_.back()));
  }
}

Tensor copy_of(const TensorView& view) {
  Tensor copy = make_tensor(view.type, Shape(view.shape.begin(), view.shape.end()));
  if (view.bytes() > 0) std::memcpy(writable<std::byte>(copy).data(), view.data, view.bytes());
  return copy;
}

Tensor borrowed(const TensorView& view) {
  return {view.type, Shape(view.shape.begin(), view.shape.end()), std::shared_ptr<const std::byte>(view.data, [](const std::byte*) {})};
}

namespace {

EngineRequest request_of(const EngineChoice& engine, std::vector<int64_t> batch_sizes) {
  EngineRequest request;
  request.task = engine.task;
  request.placement.devices = {engine.device};
  request.precision = engine.precision;
  request.batch_sizes = std::move(batch_sizes);
  request.threads = engine.threads;
  request.options = engine.options;
  if (const auto inputs = request.options.find("inputs"); inputs != request.options.end()) {  // an option of all engines
    request.inputs = input_place(inputs->second);
    request.options.erase(inputs);
  }
  return request;
}

}  // namespace

void require_support(Backend& backend, const EngineChoice& engine, const Model& model) {
  require(task_support(backend, engine.task, model.summary()));
  const EngineRequest request = request_of(engine, {batching_of(model.summary().inputs).samples});
  check_options(backend.name(), backend.options(), request.options);
  require(backend.supports(request, model.summary()));
}

LoadOptions load_options(const EngineChoice& engine, int64_t batch, Clock& clock) {
  LoadOptions options{request_of(engine, {batch})};
  options.cache_dir = engine.cache_dir;
  options.clock = &clock;
  return options;
}

std::string run_on_engine(const EngineChoice& engine, const Model& model, std::span<const std::vector<TensorView>> queries,
                          const QueryReceiver& receive) {
  const auto plugin = open_plugin(engine.backend);
  require_support(plugin->backend(), engine, model);
  const auto clock = make_real_clock();
  std::vector<QuerySamples> divided;
  std::set<int64_t> batches;
  std::vector<std::vector<TensorView>> samples;
  for (const auto& query : queries) {
    const auto parts = divided.emplace_back(model.summary().inputs, query).samples();
    batches.insert(static_cast<int64_t>(parts.size()));
    samples.insert(samples.end(), parts.begin(), parts.end());
  }
  if (queries.empty()) batches.insert(batching_of(model.summary().inputs).samples);
  LoadOptions options = load_options(engine, *batches.begin(), *clock);
  options.batch_sizes.assign(batches.begin(), batches.end());
  std::optional<Error> failure;
  options.completion = [&](std::span<const Done> done) {
    if (done.back().error != nullptr) failure = *done.back().error;
  };
  const auto session = load_session(plugin->backend(), model, options);
  session->stage(samples);
  uint32_t next = 0;
  for (size_t position = 0; position < queries.size(); ++position) {
    std::vector<uint32_t> items(divided[position].samples().size());
    std::iota(items.begin(), items.end(), next);
    next += static_cast<uint32_t>(items.size());
    session->enqueue(0, items, position);
    session->drain();
    if (failure) throw Error(ErrorKind::refused, fmt::format("{} failed: {}", engine.backend, failure->what()));
    receive(position, session->outputs(0));
  }
  return fmt::format("{} {}", engine.backend, plugin->backend().version());
}

std::string run_on_evaluator(const Model& model, std::span<const std::vector<TensorView>> queries, const QueryReceiver& receive,
                             const std::function<void(ValueId, const Tensor&)>& observe) {
  for (size_t position = 0; position < queries.size(); ++position) {
    std::vector<Tensor> inputs;
    for (const TensorView& view : queries[position]) inputs.push_back(borrowed(view));
    const std::vector<Tensor> outputs = evaluate(model.graph(), inputs, observe);
    receive(position, views_of(outputs));
  }
  return evaluator_name;
}

namespace {

// Runs `second` with the refusal's text if `first` refuses before it gave anything to its receiver.
template <typename First, typename Second>
std::string first_or(const First& first, const Second& second, const QueryReceiver& receive) {
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

std::vector<std::string> referring_engines(const std::string& checked) {
  std::vector<std::string> engines{"onnxruntime", "openvino"};
  std::erase(engines, checked);
  return engines;
}

namespace {

ReferenceRun run_as_it_is(const Model& model, int threads, std::span<const std::vector<TensorView>> queries, const std::string& checked,
                          const QueryReceiver& receive, RoundingWatch* watch) {
  const auto by_others = [&](const QueryReceiver& to, const std::string& refusal) {
    std::string reasons = fmt::format("the reference interpreter cannot run it ({})", refusal);
    for (const std::string& name : referring_engines(checked)) {
      EngineChoice other;
      other.backend = name;
      other.threads = threads;
      bool begun = false;
      try {
        return run_on_engine(other, model, queries, [&](size_t position, std::span<const TensorView> outputs) {
          begun = true;
          to(position, outputs);
        });
      } catch (const Error& error) {
        if (begun) throw;
        reasons += fmt::format(", nor can {} ({})", name, error.what());
      }
    }
    if (referring_engines(checked).size() < referring_engines("").size())
      reasons += fmt::format("; {} is not a reference for itself", checked);
    throw Error(ErrorKind::refused, reasons);
  };
  const auto observe = [&](ValueId id, const Tensor& value) { watch->see(id, value); };
  const auto by_evaluator = [&](const QueryReceiver& to) {
    return watch == nullptr ? run_on_evaluator(model, queries, to) : run_on_evaluator(model, queries, to, observe);
  };
  const std::string engine = first_or(by_evaluator, by_others, receive);
  return {engine, ""};
}

Tensor in_float32(const TensorView& view) {
  const bool is_short = view.type == DataType::f16 || view.type == DataType::bf16;
  return is_short ? converted(borrowed(view), DataType::f32) : borrowed(view);
}

}  // namespace

ReferenceRun run_reference(const Model& model, int threads, std::span<const std::vector<TensorView>> queries, const std::string& checked,
                           const QueryReceiver& receive) {
  std::optional<Graph> wide = widened_graph(model.graph());
  if (!wide) return run_as_it_is(model, threads, queries, checked, receive, nullptr);
  const auto wide_model = model_of(model.name(), std::move(*wide));
  std::vector<std::vector<Tensor>> inputs;
  std::vector<std::vector<TensorView>> wide_queries;
  for (const std::vector<TensorView>& query : queries) {
    inputs.emplace_back();
    for (const TensorView& view : query) inputs.back().push_back(in_float32(view));
    wide_queries.push_back(views_of(inputs.back()));
  }
  std::vector<std::vector<Tensor>> unrounded(queries.size());
  const auto in_own_types = [&](size_t position, std::span<const TensorView> views) {
    std::vector<Tensor> outputs;
    for (size_t i = 0; i < views.size(); ++i) {
      const DataType type = model.graph().values[static_cast<size_t>(model.graph().outputs.at(i))].type;
      outputs.push_back(views[i].type == type ? copy_of(views[i]) : converted(borrowed(views[i]), type));
    }
    receive(position, views_of(outputs));
    unrounded[position] = std::move(outputs);
  };
  RoundingWatch watch(model.graph());
  ReferenceRun run = run_as_it_is(*wide_model, threads, wide_queries, checked, in_own_types, &watch);
  run.overflow = watch.why(model, queries, unrounded);
  return run;
}

std::string run_fp32(const Model& model, int threads, std::span<const std::vector<TensorView>> queries, const QueryReceiver& receive) {
  EngineChoice native;
  native.threads = threads;
  return first_or([&](const QueryReceiver& to) { return run_on_engine(native, model, queries, to); },
                  [&](const QueryReceiver& to, const std::string&) { return run_on_evaluator(model, queries, to); }, receive);
}

}  // namespace deepgap
