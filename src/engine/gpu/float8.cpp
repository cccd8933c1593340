#include "engine/gpu/float8.h"

#include "engine/passes/edit.h"
#include "model/graph_tools.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace deepgap::gpu {
namespace {

constexpr int fraction_bits = 3, bias = 7, least_exponent = 1 - bias;
constexpr uint8_t not_a_number = 0x7f;
constexpr int64_t vector = 16;  // numbers that the kernels read at once

bool is_last_of_several(const Graph& graph, const Operation& product) {
  return is_graph_output(graph, product.output) && std::count(graph.inputs.begin(), graph.inputs.end(), product.main.inputs[0]) == 0;
}

}  // namespace

uint8_t to_e4m3(float value) {
  const auto sign = static_cast<uint8_t>(std::signbit(value) ? 0x80 : 0);
  if (std::isnan(value)) return sign | not_a_number;
  const float size = std::min(std::fabs(value), largest_e4m3);
  const int exponent = std::max(size == 0 ? least_exponent : std::ilogb(size), least_exponent);
  // In units of the last place: 8 to 16, or less where numbers are denormal; 16 is the next exponent's 8.
  const auto units = static_cast<int>(std::nearbyint(std::ldexp(size, fraction_bits - exponent)));
  return static_cast<uint8_t>(sign | ((exponent - least_exponent) * (1 << fraction_bits) + units));
}

float from_e4m3(uint8_t bits) {
  const int size = bits & 0x7f, exponent = size >> fraction_bits, fraction = size & ((1 << fraction_bits) - 1);
  float value =
      std::ldexp(static_cast<float>(fraction + (exponent > 0 ? 1 << fraction_bits : 0)), std::max(exponent, 1) - bias - fraction_bits);
  if (size == not_a_number) value = std::bit_cast<float>(0x7fc00000u);
  return (bits & 0x80) != 0 ? -value : value;
}

bool multiplies_in_float8(const Graph& graph, const Operation& operation) {
  const Node& node = operation.main;
  if ((node.op != "MatMul" && node.op != "Gemm") || operation.is_quantized() || attribute_int(node, "transA", 0) != 0) return false;
  const Tensor* weights = constant_of(graph, node.inputs[1]);
  if (weights == nullptr || weights->type != DataType::f32) return false;
  Shape shape = weights->shape;
  while (shape.size() > 2 && shape.front() == 1) shape.erase(shape.begin());
  if (shape.size() != 2 || shape[0] % vector != 0 || shape[1] % vector != 0) return false;
  const auto dims = graph.values[static_cast<size_t>(node.inputs[0])].dims;
  const bool is_number = graph.values[static_cast<size_t>(node.inputs[0])].type == DataType::f32;
  return is_number && dims && dims->size() >= 2 && !is_last_of_several(graph, operation);
}

std::set<ValueId> values_in_float8(const Graph& graph) {
  std::set<ValueId> multiplied, others(graph.outputs.begin(), graph.outputs.end());
  for (const Node& node : graph.nodes) {
    const Operation operation = operation_of(graph, node);
    const bool float8 = multiplies_in_float8(graph, operation);
    if (float8) multiplied.insert(operation.main.inputs[0]);
    const ValueId factor = float8 ? operation.main.inputs[0] : no_value;
    bool seen = false;  // the same value may be added, too
    for (const ValueId id : node.inputs) {
      if (id == factor && !seen)
        seen = true;
      else
        others.insert(id);
    }
  }
  for (const ValueId id : others) multiplied.erase(id);
  for (const ValueId id : graph.inputs) multiplied.erase(id);
  return multiplied;
}

}  // namespace deepgap::gpu
