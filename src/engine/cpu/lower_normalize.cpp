#include "engine/cpu/operators.h"
#include "model/graph_tools.h"

#include <numeric>

namespace deepgap {
namespace {

using dnnl::memory;

int64_t product(memory::dims::const_iterator begin, memory::dims::const_iterator end) {
  return std::accumulate(begin, end, int64_t{1}, std::multiplies<>());
}

}  // namespace

// Everything from the axis on is one row.
bool lower_layer_norm(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const ValueId in = node.inputs[0];
  if (lowering.type(in) != DataType::f32 || lowering.constant(in) != nullptr || node.outputs.size() > 1) return false;
  const auto dims = lowering.dims(in);
  int64_t axis = attribute_int(node, "axis", -1);
  if (axis < 0) axis += static_cast<int64_t>(dims.size());
  const memory::dims rows{product(dims.begin(), dims.begin() + axis), product(dims.begin() + axis, dims.end())};
  const bool shifted = node.inputs.size() > 2 && node.inputs[2] != no_value;
  for (size_t i = 1; i < (shifted ? 3U : 2U); ++i) {
    const auto parameter = lowering.dims(node.inputs[i]);
    if (lowering.type(node.inputs[i]) != DataType::f32 || product(parameter.begin(), parameter.end()) != rows[1]) return false;
  }
  using dnnl::normalization_flags;
  const auto flags = shifted ? normalization_flags::use_scale | normalization_flags::use_shift : normalization_flags::use_scale;
  const auto numbers = plain_desc(DataType::f32, rows), parameters = plain_desc(DataType::f32, Shape{rows[1]});
  const auto source = *retyped(numbers, lowering.layout(in).get_data_type());
  const auto target = *retyped(numbers, lowering.stored_type(operation.output));
  auto attributes = user_scratchpad();
  const dnnl::layer_normalization_forward::primitive_desc description(lowering.engine(), dnnl::prop_kind::forward_inference, source, target,
                                                                      attribute_float(node, "epsilon", 1e-5F), flags, attributes);
  if (is_reference(description)) return false;
  std::vector<StepArgument> arguments{lowering.read(DNNL_ARG_SRC, in, lowering.plain(in, source.get_data_type()))};
  arguments[0].desc = source;
  arguments.push_back(lowering.read_viewed(DNNL_ARG_SCALE, node.inputs[1], parameters));
  if (shifted) arguments.push_back(lowering.read_viewed(DNNL_ARG_SHIFT, node.inputs[2], parameters));
  arguments.push_back(lowering.write(DNNL_ARG_DST, operation.output, lowering.plain(operation.output, target.get_data_type())));
  arguments.back().desc = target;
  add_scratchpad(lowering, description, arguments);
  lowering.step(operation, dnnl::layer_normalization_forward(description), std::move(arguments));
  return true;
}

}  // namespace deepgap
