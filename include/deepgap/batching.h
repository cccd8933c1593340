// Batching: how samples fill a network's inputs. It follows from the first sizes of all inputs together. Plain data and pure functions.
#pragma once

#include <deepgap/graph.h>

#include <algorithm>
#include <string>
#include <vector>

namespace deepgap {

// open: every input begins with the batch N, and a query has any number of samples. fixed: every input begins with the same size, and a
// query has that many samples. whole: no size is common to all inputs (a recurrent network's states, positions, scalars), or it is 0;
// all inputs as they are make up one sample, and a query has one. An N that only some inputs begin with is then 1.
struct Batching {
  enum class Kind : uint8_t { open, fixed, whole };
  Kind kind = Kind::whole;
  int64_t samples = 1;  // samples in a query; with an open batch, the least number

  bool takes(int64_t batch) const { return kind == Kind::open ? batch >= 1 : batch == samples; }
};

// Returns the Batching of inputs that have `dims`: TensorInfo, Value or a plug-in's own type.
template <typename Input>
Batching batching_of(const std::vector<Input>& inputs) {
  const auto begins = [](const Input& input) { return input.dims && !input.dims->empty(); };
  if (inputs.empty() || !std::all_of(inputs.begin(), inputs.end(), begins)) return {};
  const Dim& first = inputs.front().dims->front();
  const auto is_open = [](const Input& input) { return input.dims->front().symbol == batch_symbol; };
  if (std::all_of(inputs.begin(), inputs.end(), is_open)) return {Batching::Kind::open, 1};
  const auto is_same = [&](const Input& input) { return input.dims->front() == first; };
  if (!first.known() || first.size < 1 || !std::all_of(inputs.begin(), inputs.end(), is_same)) return {};
  return {Batching::Kind::fixed, first.size};
}

// Returns "has a fixed batch of 8", for the message that refuses another one.
inline std::string batching_text(const Batching& batching) {
  if (batching.kind == Batching::Kind::fixed) return "has a fixed batch of " + std::to_string(batching.samples);
  return batching.kind == Batching::Kind::whole ? "has no batch dimension that all inputs share, so that it takes batch 1"
                                                : "takes any batch";
}

inline Batching batching_of(const Graph& graph) {
  std::vector<Value> inputs;
  for (const ValueId id : graph.inputs) inputs.push_back(graph.values[static_cast<size_t>(id)]);
  return batching_of(inputs);
}

}  // namespace deepgap
