#include "known_faults.h"

#include "model/graph_tools.h"

#include "model/eval/evaluator.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace deepgap::conformance {
namespace {

using Fault = std::optional<KnownFault>;

// What was left as memory had it may be anything.
constexpr double anything_db = -std::numeric_limits<double>::infinity();

Fault values(double least_db, const std::string& reason) { return KnownFault{reason, {.least_db = least_db}}; }
Fault integers(const std::string& reason) { return KnownFault{reason, {.integers = true}}; }
Fault failure(const std::string& reason) { return KnownFault{reason, {.failure = true}}; }
Fault values_or_integers(double least_db, const std::string& reason) {
  return KnownFault{reason, {.least_db = least_db, .integers = true}};
}

// Several groups, none of them of one channel, with outputs that do not fill the 16 columns of a tile.
bool has_ragged_groups(const Graph& graph, const Node& node) {
  if (node.op != "Conv") return false;
  const int64_t groups = attribute_int(node, "group", 1);
  const auto& weights = graph.values[static_cast<size_t>(node.inputs[1])].dims;
  return groups > 1 && weights && (*weights)[1].size > 1 && (*weights)[0].size / groups % 16 != 0;
}

DataType type_of(const Graph& graph, ValueId id) { return graph.values[static_cast<size_t>(id)].type; }

bool is_integer(DataType type) {
  return type != DataType::f32 && type != DataType::f64 && type != DataType::f16 && type != DataType::bf16 && type != DataType::boolean;
}

bool has_wide_integers(const Graph& graph) {
  return std::any_of(graph.constants.begin(), graph.constants.end(), [](const auto& constant) {
    if (constant.second.type != DataType::i64) return false;
    const auto values = constant.second.template as<int64_t>();
    return std::any_of(values.begin(), values.end(), [](int64_t value) { return value != static_cast<int32_t>(value); });
  });
}

bool reduces_nothing(const Graph& graph, const Node& node) {
  const auto& dims = graph.values[static_cast<size_t>(node.inputs[0])].dims;
  return dims && std::any_of(dims->begin(), dims->end(), [](const Dim& dim) { return dim.size == 0; });
}

// One column of results, from steps of more than one.
bool has_one_column(const Graph& graph, const Node& node) {
  if (node.op != "Conv") return false;
  const std::vector<int64_t> strides = attribute_ints(node, "strides", {});
  const auto& result = graph.values[static_cast<size_t>(node.outputs[0])].dims;
  return !strides.empty() && strides.back() > 1 && result && result->back() == Dim{1, ""};
}

// A product that reads a Softmax.
bool reads_shares(const Graph& graph, const Node& node) {
  return node.op == "MatMul" && std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& shares) {
           return shares.op == "Softmax" && shares.outputs[0] == node.inputs[0];
         });
}

bool in_bf16(const std::string& precision) { return precision == "bf16" || precision == "mixed"; }

// In three dimensions, where a filter reads one channel.
bool has_one_channel(const Graph& graph, const Node& node) {
  if (node.op != "Conv") return false;
  const auto& weights = graph.values[static_cast<size_t>(node.inputs[1])].dims;
  return weights && weights->size() == 5 && (*weights)[1] == Dim{1, ""};
}

// Outputs that no window reaches.
bool goes_beyond_the_windows(const Node& node) {
  if (node.op != "ConvTranspose") return false;
  const std::vector<int64_t> more = attribute_ints(node, "output_padding", {});
  const std::vector<int64_t> pads = attribute_ints(node, "pads", std::vector<int64_t>(2 * more.size(), 0));
  for (size_t i = 0; i < more.size(); ++i)
    if (more[i] > pads[more.size() + i]) return true;
  return false;
}

// Seen with OpenVINO 2026.4.1 and PyTorch 2.11 (oneDNN 3.10.2) and AMX at -2 dB, such as 7 columns, a kernel of 7 and a stride of 2; right
// at a stride of 1, and where oneDNN is kept to AVX-512.
Fault fault_of_onednn(const Graph& graph, const Node& node, const std::string& precision) {
  if (!in_bf16(precision)) return std::nullopt;
  if (goes_beyond_the_windows(node))
    return values(anything_db, "oneDNN on AMX leaves outputs of a BF16 ConvTranspose beyond all windows as memory had them");
  if (has_one_channel(graph, node)) return values(-10, "oneDNN on AMX is wrong for BF16 3-D convolutions of one channel at some sizes");
  if (has_one_column(graph, node))
    return values(-10, "oneDNN on AMX is wrong for BF16 convolutions of one column of results and a stride above 1");
  return std::nullopt;
}

// A slope of one axis, as long as the second axis: ONNX broadcasts it along the last one.
bool has_slope_like_channels(const Graph& graph, const Node& node) {
  if (node.op != "PRelu") return false;
  const auto &x = graph.values[static_cast<size_t>(node.inputs[0])].dims, &slope = graph.values[static_cast<size_t>(node.inputs[1])].dims;
  return x && slope && slope->size() == 1 && x->size() > 2 && (*slope)[0] == (*x)[1];
}

// Over more than the last axis: until opset 12 all axes from the given one on are one.
bool is_softmax_over_several_axes(const Graph& graph, const Node& node) {
  const auto& dims = graph.values[static_cast<size_t>(node.inputs[0])].dims;
  if (node.op != "Softmax" || graph.opset < 11 || graph.opset > 12 || !dims) return false;
  const int64_t axis = attribute_int(node, "axis", 1);
  return axis != -1 && axis != static_cast<int64_t>(dims->size()) - 1;
}

// A pixel is chosen at a position that is whole or half-way in numbers, if not in floats: one beside it is as near.
bool chooses_pixels(const Node& node) {
  const std::string where = attribute_string(node, "coordinate_transformation_mode", "half_pixel");
  return node.op == "Resize" && attribute_string(node, "mode", "nearest") == "nearest" &&
         (where == "align_corners" || where == "asymmetric");
}

Fault reduction_of_openvino(const Graph& graph, const Node& node) {
  if (attribute_int(node, "noop_with_empty_axes", 0) != 0) return values(-20, "OpenVINO takes a reduction over no axes for its input");
  if (node.op == "ReduceMax" && reduces_nothing(graph, node))
    return values(anything_db, "OpenVINO takes the largest of nothing for the least finite number");
  return std::nullopt;
}

// Seen with 2026.4.1 where ONNX Runtime agrees with the evaluator.
Fault window_fault_of_openvino(const Graph& graph, const Node& node, const std::string& precision) {
  if (node.op == "ConvTranspose" && node.attributes.contains("output_shape"))
    return values(-10, "OpenVINO pads ConvTranspose otherwise for an output_shape");
  // At 3 groups of 29 and 37 outputs; right where its oneDNN is kept to AVX-512 (ONEDNN_MAX_CPU_ISA).
  if (precision == "int8" && has_ragged_groups(graph, node))
    return values(-15, "OpenVINO on AMX is wrong for INT8 groups whose outputs are no multiple of 16");
  // With AMX and without.
  if (precision == "int8" && has_one_channel(graph, node))
    return values(-15, "OpenVINO is wrong for INT8 3-D convolutions of one channel at some sizes");
  if (node.op == "Resize" && attribute_int(node, "exclude_outside", 0) != 0)
    return values(10, "OpenVINO does not know of exclude_outside in Resize");
  // align_corners with floor, asymmetric with round_prefer_ceil.
  if (chooses_pixels(node))
    return values_or_integers(-10, "OpenVINO takes the pixel beside where rounding moved a position of Resize off a whole or a half");
  return fault_of_onednn(graph, node, precision);
}

Fault fault_of_openvino(const Graph& graph, const Node& node, const std::string& precision) {
  const DataType type = node.inputs.empty() ? DataType::f32 : type_of(graph, node.inputs[0]);
  if (node.op == "Shrink" && is_integer(type)) return integers("OpenVINO loses the bias of Shrink in whole numbers");
  if (type == DataType::u8 && (node.op == "Sub" || node.op == "BitShift"))
    return integers("OpenVINO computes uint8 wider and holds it at its ends");
  if (node.op == "TopK" || node.op == "Hardmax") return values_or_integers(-10, "OpenVINO does not keep the order of equal values");
  if (has_slope_like_channels(graph, node))
    return values_or_integers(-10, "OpenVINO takes a PRelu's slope for one of channels where it is as long as they are many");
  if (node.op == "LpNormalization") return values(20, "OpenVINO adds something to LpNormalization's norm");
  if (node.op == "LRN") return values(-40, "OpenVINO's LRN is wrong at some sizes");
  if (node.op == "DynamicQuantizeLinear")
    return values_or_integers(30, "OpenVINO's DynamicQuantizeLinear rounds now and then to the level beside");
  // Seen with 2026.4.1, whatever the sizes; opset 7 is right.
  if (is_softmax_over_several_axes(graph, node)) return values(-40, "OpenVINO takes Softmax of opsets 11 and 12 over one axis alone");
  // Seen with 2026.4.1 at -716 dB.
  if (in_bf16(precision) && reads_shares(graph, node)) return values(anything_db, "OpenVINO is wrong for BF16 attention at some sizes");
  return node.op.starts_with("Reduce") ? reduction_of_openvino(graph, node) : window_fault_of_openvino(graph, node, precision);
}

// Seen with PyTorch 2.11: coordinates between -1 and 1 with 8 bits of mantissa miss a place by several hundredths of a pixel.
Fault fault_of_libtorch(const Graph& graph, const Node& node, const std::string& precision) {
  if (node.op == "GridSample" && precision != "fp32") return values(20, "PyTorch computes GridSample's coordinates in 16 bits");
  return fault_of_onednn(graph, node, precision);
}

// Steps longer than the window, so that "same" padding would take away instead of adding.
bool has_negative_padding(const Node& node) {
  if (!node.op.ends_with("Pool") || !attribute_string(node, "auto_pad", "").starts_with("SAME")) return false;
  const std::vector<int64_t> kernel = attribute_ints(node, "kernel_shape", {});
  const std::vector<int64_t> strides = attribute_ints(node, "strides", std::vector<int64_t>(kernel.size(), 1));
  const std::vector<int64_t> dilations = attribute_ints(node, "dilations", std::vector<int64_t>(kernel.size(), 1));
  for (size_t i = 0; i < std::min(kernel.size(), strides.size()); ++i)
    if (strides[i] > (kernel[i] - 1) * dilations[i] + 1) return true;
  return false;
}

// A part of an axis whose size stays, which 1.31.1 takes for an axis where nothing is to be done.
bool crops_at_one_size(const Graph& graph, const Node& node) {
  if (node.op != "Resize" || attribute_string(node, "coordinate_transformation_mode", "") != "tf_crop_and_resize") return false;
  const auto crop = graph.constants.find(node.inputs[1]);
  const auto &in = graph.values[static_cast<size_t>(node.inputs[0])].dims, &out = graph.values[static_cast<size_t>(node.outputs[0])].dims;
  if (crop == graph.constants.end() || !in || !out) return false;
  const auto ends = crop->second.as<float>();
  for (size_t i = 0; i < in->size(); ++i)
    if ((*in)[i] == (*out)[i] && (ends[i] != 0 || ends[i + in->size()] != 1)) return true;
  return false;
}

Fault fault_of_onnxruntime(const Graph& graph, const Node& node) {
  if (has_negative_padding(node))
    return failure("ONNX Runtime computes a padding below zero where a pool's steps are longer than its window, and fails");
  if (crops_at_one_size(graph, node)) return values_or_integers(-10, "ONNX Runtime does not crop along an axis whose size stays");
  return std::nullopt;
}

// Seen with OpenVINO 2026.4.1: Gather divides by the number of places that NonZero finds, and none ends the process (SIGFPE).
bool finds_no_places(const Graph& graph, const Node& node) {
  const auto mask = node.op == "NonZero" ? graph.constants.find(node.inputs[0]) : graph.constants.end();
  if (mask == graph.constants.end() || mask->second.type != DataType::boolean) return false;
  const auto flags = mask->second.as<uint8_t>();
  return std::all_of(flags.begin(), flags.end(), [](uint8_t flag) { return flag == 0; });
}

Fault fault_of(const std::string& backend, const std::string& precision, const Graph& graph, const Node& node) {
  if (backend == "openvino") return fault_of_openvino(graph, node, precision);
  if (backend == "libtorch") return fault_of_libtorch(graph, node, precision);
  if (backend == "onnxruntime") return fault_of_onnxruntime(graph, node);
  if (backend == "null" && node.op == "NonZero") return KnownFault{"the null backend does not count what is not zero", {.form = true}};
  return std::nullopt;
}

// A case named by no operator ("Attention of one", "Pools of all") is of several.
bool is_tried(const std::string& tried, const Node& node) {
  const std::vector<std::string> operators = evaluated_operators();
  return node.op == tried || !std::binary_search(operators.begin(), operators.end(), tried);
}

}  // namespace

bool ErrorBound::holds(const Difference& wrong) const {
  switch (wrong.kind) {
    case Difference::Kind::none:
      return true;
    case Difference::Kind::values:
      return !std::isnan(least_db) && wrong.sqnr_db >= least_db;
    case Difference::Kind::integers:
      return integers;
    case Difference::Kind::failure:
      return failure;
    case Difference::Kind::form:
      return form;
  }
  return false;
}

std::string known_crash(const std::string& backend, const Graph& graph) {
  const bool dies = backend == "openvino" &&
                    std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return finds_no_places(graph, node); });
  return dies ? "OpenVINO divides by zero where NonZero finds nothing, and ends the process" : "";
}

std::string known_nameless_refusal(const std::string& backend, const Graph& graph) {
  for (const Node& node : graph.nodes) {
    const DataType type = node.inputs.empty() ? DataType::f32 : type_of(graph, node.inputs[0]);
    const bool apart =
        ((node.op == "HardSwish" || node.op == "Gelu") && type == DataType::f64) || (node.op == "Clip" && type == DataType::i16);
    // With 1.31.1: "Could not find an implementation for Erf(13) node with name ''".
    if (backend == "onnxruntime" && apart)
      return "ONNX Runtime takes " + node.op + " of this type apart, and names no node where it has no kernel for a part";
  }
  return "";
}

std::string known_fault(const std::string& backend, const std::string& precision, const Graph& graph, const std::string& tried,
                        const Difference& wrong) {
  if (backend == "openvino" && has_wide_integers(graph) && wrong.kind == Difference::Kind::integers)
    return "OpenVINO computes int64 in 32 bits";
  for (const Node& node : graph.nodes) {
    if (!is_tried(tried, node)) continue;
    const Fault fault = fault_of(backend, precision, graph, node);
    if (fault && fault->bound.holds(wrong)) return fault->reason;
  }
  return "";
}

}  // namespace deepgap::conformance
