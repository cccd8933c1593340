#include "model/suggested_sizes.h"

#include "base/text.h"
#include "model/graph_tools.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

namespace deepgap {
namespace {

bool is_open(const Dim& dim) { return !dim.known() && dim.symbol != batch_symbol; }

using Sizes = std::map<std::string, int64_t>;  // by symbol

// Lists the open sizes of the inputs, in their order.
std::vector<std::pair<std::string, int64_t>> usual_sizes(const Graph& graph) {
  std::vector<std::pair<std::string, int64_t>> usual;
  for (const ValueId id : graph.inputs) {
    const Value& input = graph.values[static_cast<size_t>(id)];
    for (const Dim& dim : input.dims.value_or(Dims{})) {
      if (!is_open(dim) || std::any_of(usual.begin(), usual.end(), [&](const auto& one) { return one.first == dim.symbol; })) continue;
      usual.emplace_back(dim.symbol, input.dims->size() == 4 ? 224 : 128);
    }
  }
  return usual;
}

// Returns the shapes as bind_shapes() takes them; the batch stays open.
std::map<std::string, std::vector<int64_t>> shapes_of(const Graph& graph, const Sizes& sizes) {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const ValueId id : graph.inputs) {
    const Value& input = graph.values[static_cast<size_t>(id)];
    if (!input.dims) shapes[input.name] = {-1, 3, 224, 224};  // an example, as any rank is possible
    if (!input.dims || std::none_of(input.dims->begin(), input.dims->end(), is_open)) continue;
    for (const Dim& dim : *input.dims) shapes[input.name].push_back(dim.known() ? dim.size : is_open(dim) ? sizes.at(dim.symbol) : -1);
  }
  return shapes;
}

bool takes(const Graph& graph, const Sizes& sizes) {
  try {
    bind_shapes(graph, shapes_of(graph, sizes));
    return true;
  } catch (const Error&) {
    return false;
  }
}

// The usual sizes, else with some of them twice as large (all of a sequence and what came before it) or of another usual length, in the
// order of a counter whose first digit is the last symbol's.
Sizes suggested(const Graph& graph) {
  constexpr std::array<int64_t, 5> factors{1, 2, 0, 3, 4};  // multiples of the usual size; 0: the size 1
  constexpr size_t most_work = 4'000'000;                   // nodes that are gone over
  const auto usual = usual_sizes(graph);
  const size_t tries = std::clamp<size_t>(most_work / std::max<size_t>(graph.nodes.size(), 1), 1, 625);
  const auto sized = [&](size_t number) {
    Sizes sizes;
    for (auto one = usual.rbegin(); one != usual.rend(); ++one, number /= factors.size()) {
      const int64_t factor = factors[number % factors.size()];
      sizes[one->first] = factor == 0 ? 1 : factor * one->second;
    }
    return sizes;
  };
  for (size_t number = 0; number < tries; ++number)
    if (Sizes sizes = sized(number); takes(graph, sizes)) return sizes;
  return sized(0);
}

}  // namespace

std::string suggested_shape_flag(const Graph& graph) {
  const auto shapes = shapes_of(graph, suggested(graph));
  std::vector<std::string> inputs;
  for (const ValueId id : graph.inputs) {
    const std::string& name = graph.values[static_cast<size_t>(id)].name;
    const auto found = shapes.find(name);
    if (found == shapes.end()) continue;
    std::vector<std::string> texts;
    for (const int64_t size : found->second) texts.push_back(size == -1 ? "N" : std::to_string(size));
    inputs.push_back(fmt::format("{}:{}", name, join(texts, "x")));
  }
  const std::string flag = "--shape=" + join(inputs, "/");
  const bool plain =
      flag.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-=:/.,+@%") == std::string::npos;
  return plain ? flag : fmt::format("'{}'", flag);
}

}  // namespace deepgap
