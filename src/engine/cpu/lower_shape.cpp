#include "engine/cpu/operators.h"
#include "model/graph_tools.h"

#include <algorithm>

namespace deepgap {

using dnnl::memory;

namespace {

bool is_movable(DataType type) { return type == DataType::f32 || type == DataType::u8 || type == DataType::i8; }

}  // namespace

bool lower_view(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  if (lowering.constant(node.inputs[0]) != nullptr || node.outputs.size() > 1) return false;
  if (node.op == "Dropout" && node.inputs.size() > 2) return false;  // perhaps in training mode
  lowering.alias(operation.output, node.inputs[0]);
  return true;
}

bool lower_transpose(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const ValueId in = node.inputs[0];
  if (!is_movable(lowering.type(in)) || lowering.constant(in) != nullptr) return false;
  const auto rank = lowering.dims(in).size();
  std::vector<int64_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int64_t>(rank - 1 - i);
  order = attribute_ints(node, "perm", order);
  // oneDNN asks where each axis goes, ONNX says where each comes from.
  std::vector<int> goes(rank);
  for (size_t i = 0; i < rank; ++i) goes.at(static_cast<size_t>(order.at(i))) = static_cast<int>(i);
  const auto layout = lowering.layout(in);
  const auto seen = layout.permute_axes(goes), target = lowering.plain(operation.output, layout.get_data_type());
  auto attributes = user_scratchpad();
  const dnnl::reorder::primitive_desc description(lowering.engine(), seen, lowering.engine(), target, attributes);
  auto source = lowering.read(DNNL_ARG_FROM, in, layout);
  source.desc = seen;
  std::vector<StepArgument> arguments{source, lowering.write(DNNL_ARG_TO, operation.output, target)};
  add_scratchpad(lowering, description, arguments);
  lowering.step(operation, dnnl::reorder(description), std::move(arguments));
  return true;
}

bool lower_concat(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  std::vector<memory::desc> sources;
  const auto target_dims = lowering.dims(operation.output);
  for (ValueId id : node.inputs) {
    if (!is_movable(lowering.type(id)) || element_count(lowering.dims(id)) == 0) return false;
    const auto layout = lowering.layout(id);
    // All of one type: that of the first.
    const auto type = sources.empty() ? layout.get_data_type() : sources[0].get_data_type();
    sources.push_back(retyped(layout, type).value_or(lowering.plain(id, type)));
  }
  int64_t axis = attribute_int(node, "axis", 1);
  if (axis < 0) axis += static_cast<int64_t>(target_dims.size());
  auto attributes = user_scratchpad();
  const dnnl::concat::primitive_desc description(lowering.engine(), static_cast<int>(axis), sources, attributes);
  std::vector<StepArgument> arguments;
  for (size_t i = 0; i < sources.size(); ++i)
    arguments.push_back(lowering.read(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), node.inputs[i], sources[i]));
  arguments.push_back(lowering.write(DNNL_ARG_DST, operation.output, description.dst_desc()));
  add_scratchpad(lowering, description, arguments);
  lowering.step(operation, dnnl::concat(description), std::move(arguments));
  return true;
}

// A copy for each output, of the part of the input that it is.
bool lower_split(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const ValueId in = node.inputs[0];
  if (!is_movable(lowering.type(in)) || lowering.constant(in) != nullptr) return false;
  const auto empty = [&](ValueId id) { return id == no_value || element_count(lowering.dims(id)) == 0; };
  if (std::any_of(node.outputs.begin(), node.outputs.end(), empty)) return false;
  const auto layout = lowering.layout(in);
  const bool channels_last = layout.get_ndims() > 2 && layout == channels_last_desc(layout.get_data_type(), layout.get_dims());
  const auto source = channels_last ? layout : lowering.plain(in, layout.get_data_type());
  memory::dims offsets(source.get_dims().size(), 0);
  int64_t axis = attribute_int(node, "axis", 0);
  if (axis < 0) axis += static_cast<int64_t>(offsets.size());
  auto attributes = user_scratchpad();
  for (const ValueId out : node.outputs) {
    const auto part = source.submemory_desc(lowering.dims(out), offsets);
    const auto target =
        channels_last ? channels_last_desc(source.get_data_type(), lowering.dims(out)) : lowering.plain(out, source.get_data_type());
    const dnnl::reorder::primitive_desc description(lowering.engine(), part, lowering.engine(), target, attributes);
    auto read = lowering.read(DNNL_ARG_FROM, in, source);
    read.desc = part;
    std::vector<StepArgument> arguments{read, lowering.write(DNNL_ARG_TO, out, target)};
    add_scratchpad(lowering, description, arguments);
    lowering.step(operation, dnnl::reorder(description), std::move(arguments));
    offsets[static_cast<size_t>(axis)] += lowering.dims(out)[static_cast<size_t>(axis)];
  }
  return true;
}

}  // namespace deepgap
