#include "backends/libtorch/decoder/torch_past_steps.h"

#include "backends/libtorch/torch_failure.h"
#include "backends/libtorch/torch_types.h"
#include "model/control_flow.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <utility>

namespace deepgap {
namespace {

std::vector<std::string> names_of(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<std::string> names;
  for (const ValueId id : ids) names.push_back(graph.values[static_cast<size_t>(id)].name);
  return names;
}

size_t place_of(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

// A merged file's input use_cache_branch is always true here, which decides its If.
Graph branch_with_cache(const Graph& body) {
  Graph graph = body;
  const auto asked = std::find_if(graph.inputs.begin(), graph.inputs.end(),
                                  [&](ValueId id) { return graph.values[static_cast<size_t>(id)].name == "use_cache_branch"; });
  if (asked == graph.inputs.end()) return graph;
  Tensor yes = make_tensor(DataType::boolean, Shape(graph.values[static_cast<size_t>(*asked)].dims->size(), 1));
  writable<bool>(yes)[0] = true;
  graph.constants[*asked] = yes;
  graph.inputs.erase(asked);
  inline_control_flow(graph);
  return graph;
}

}  // namespace

TorchPastSteps::TorchPastSteps(OnnxDecoder file, const Graph& body, int64_t weight_bytes, std::map<std::string, double> type_shares,
                               int threads)
    : PastValueSteps("libtorch", std::move(file), weight_bytes, std::move(type_shares)),
      threads_(threads),
      graph_(branch_with_cache(body)),
      program_(graph_, {}) {
  for (const std::string& name : names_of(graph_, graph_.inputs)) inputs_.push_back(place_of(input_names(), name));
  const std::vector<std::string> made = names_of(graph_, graph_.outputs);
  outputs_.push_back(place_of(made, "logits"));
  for (const CachePort& port : decoder().caches) outputs_.push_back(place_of(made, port.present));
  at::set_num_threads(1);  // no team of this thread's own: cpu_session.cpp says why
  with_torch_errors("loading the model", [&] { program_.prepare(1); });
}

void TorchPastSteps::enter() const { at::set_num_threads(threads_); }

at::Tensor TorchPastSteps::value_over(const void* data, DataType type, const Shape& shape) {
  return torch_view(type, shape, static_cast<const std::byte*>(data));
}

std::vector<at::Tensor> TorchPastSteps::compute(std::span<at::Tensor* const> inputs, int64_t /*length*/) {
  std::vector<at::Tensor> ordered;
  for (const size_t place : inputs_) ordered.push_back(*inputs[place]);
  const std::vector<at::Tensor> made = with_torch_errors("running the model", [&] { return program_.run(1, ordered, nullptr); });
  std::vector<at::Tensor> results;
  for (const size_t place : outputs_) results.push_back(made[place]);
  return results;
}

TensorView TorchPastSteps::content(at::Tensor& value, const std::string& output, DataType type, Shape& shape) {
  if (value.scalar_type() != torch_type(type)) throw Error(ErrorKind::input, "libtorch: output '" + output + "' has another type");
  value = value.contiguous();
  shape.assign(value.sizes().begin(), value.sizes().end());
  return {type, shape, static_cast<const std::byte*>(value.const_data_ptr())};
}

}  // namespace deepgap
