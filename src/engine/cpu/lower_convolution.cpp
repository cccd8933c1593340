#include "engine/cpu/operators.h"
#include "model/graph_tools.h"

#include <functional>
#include <numeric>
#include <string_view>

namespace deepgap {
namespace {

using dnnl::memory;

memory::desc any_layout(const memory::dims& dims, memory::data_type type) { return {dims, type, memory::format_tag::any}; }

// Weights as oneDNN counts them: with the groups as a dimension of their own, and (for ConvTranspose, which ONNX gives input channels
// first) outputs before inputs, as strides over ONNX's bytes.
memory::desc weights_desc(DataType type, const memory::dims& dims, int64_t groups, bool transposed) {
  memory::dims grouped = dims;
  grouped[0] /= groups;
  if (groups > 1) grouped.insert(grouped.begin(), groups);
  auto desc = plain_desc(type, grouped);
  if (!transposed) return desc;
  std::vector<int> permutation(grouped.size());
  for (size_t i = 0; i < permutation.size(); ++i) permutation[i] = static_cast<int>(i);
  const size_t first = groups > 1 ? 1 : 0;
  std::swap(permutation[first], permutation[first + 1]);
  return desc.permute_axes(permutation);
}

bool types_fit(const Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const bool integers = operation.is_quantized();
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (node.inputs[i] != no_value && lowering.type(node.inputs[i]) != DataType::f32 && !(integers && i < 2)) return false;
  return true;
}

struct Dense {
  memory::dims source, target;
  memory::desc weights;  // over ONNX's bytes
  Windows windows;
  bool bias;
};

std::optional<Dense> describe(Lowering& lowering, const Operation& operation, bool transposed) {
  const Node& node = operation.main;
  if (node.inputs.size() < 2 || !types_fit(lowering, operation) || lowering.constant(node.inputs[1]) == nullptr) return std::nullopt;
  Dense dense{lowering.dims(node.inputs[0]), lowering.dims(operation.output), {}, {}, false};
  const auto weights = lowering.dims(node.inputs[1]);
  if (dense.source.size() < 3 || dense.source.size() > 5) return std::nullopt;
  dense.bias = node.inputs.size() > 2 && node.inputs[2] != no_value;
  const auto kernel = std::span(weights).subspan(2);
  // A transposed convolution's windows slide over its output.
  dense.windows = transposed ? windows_of(node, dense.target, dense.source, kernel) : windows_of(node, dense.source, dense.target, kernel);
  dense.weights = weights_desc(lowering.type(node.inputs[1]), weights, attribute_int(node, "group", 1), transposed);
  return dense;
}

// Returns how many AMX tiles oneDNN makes of the output's pixels: of 16 rows at most, and of a number that divides the image's height, or
// its pixels if the height is below 32.
int64_t pixel_tiles(const memory::dims& target) {
  const int64_t pixels = std::accumulate(target.begin() + 2, target.end(), int64_t{1}, std::multiplies<>());
  const int64_t height = pixels / target.back();
  for (int64_t rows = 16; rows > 1; --rows) {
    if ((height < 32 ? pixels : height) % rows == 0) return pixels / rows;
  }
  return pixels;
}

// oneDNN 3.2's 1x1 convolution on AMX takes four tiles of pixels at a time. Where three are left, as of 6x6 pixels, it writes a fourth,
// past the end of its output.
template <typename Description>
void avoid_writing_past_the_end(Description& description, const memory::dims& target) {
  while (std::string_view(description.impl_info_str()) == "jit_1x1:avx512_core_amx" && pixel_tiles(target) % 4 == 3) {
    if (!description.next_impl()) return;
  }
}

// oneDNN 3.2's ConvTranspose leaves outputs beyond all windows, as output_padding can have them, without the bias or as memory had them;
// seen in BF16 on AMX, and INT8 has the same kernel.
bool leaves_places_out(const Dense& dense, memory::data_type type, bool transposed) {
  if (!transposed || type == memory::data_type::f32) return false;
  const Windows& w = dense.windows;
  for (size_t i = 0; i < w.kernel.size(); ++i) {
    const int64_t reach = (dense.source[i + 2] - 1) * w.strides[i] + (w.kernel[i] - 1) * (w.dilations[i] + 1) + 1;
    if (dense.target[i + 2] + w.before[i] > reach) return true;
  }
  return false;
}

template <typename Primitive>
bool lower_dense(Lowering& lowering, const Operation& operation, dnnl::algorithm algorithm, bool transposed) {
  const auto dense = describe(lowering, operation, transposed);
  auto posts = dense ? posts_of(lowering, operation, dense->target.size()) : std::nullopt;
  if (!posts || !is_exact(lowering, operation, transposed ? 1 : 0)) return false;
  const auto types = types_of(lowering, operation);
  if (leaves_places_out(*dense, types.source, transposed)) return false;
  const bool grouped = dense->weights.get_dims().size() > dense->source.size();
  add_scales(lowering, operation, grouped ? 3 : 1, *posts);
  const auto bias_desc = dense->bias ? plain_desc(DataType::f32, std::array<int64_t, 1>{dense->target[1]}) : memory::desc();
  const auto& windows = dense->windows;
  typename Primitive::primitive_desc description(
      lowering.engine(), dnnl::prop_kind::forward_inference, algorithm, any_layout(dense->source, types.source),
      any_layout(dense->weights.get_dims(), types.weights), bias_desc, any_layout(dense->target, types.target), windows.strides,
      windows.dilations, windows.before, windows.after, posts->attributes);
  avoid_writing_past_the_end(description, dense->target);
  if (operation.is_quantized() && is_reference(description)) return false;

  const Node& node = operation.main;
  std::vector<StepArgument> arguments{lowering.read(DNNL_ARG_SRC, node.inputs[0], description.src_desc()),
                                      lowering.read_constant(DNNL_ARG_WEIGHTS, node.inputs[1], dense->weights, description.weights_desc())};
  if (dense->bias) arguments.push_back(read_bias(lowering, operation, *posts, bias_desc));
  arguments.push_back(write_result(lowering, operation, *posts, description.dst_desc(), arguments));
  arguments.insert(arguments.end(), posts->arguments.begin(), posts->arguments.end());
  add_scratchpad(lowering, description, arguments);
  lowering.step(operation, Primitive(description), std::move(arguments));
  return true;
}

}  // namespace

bool lower_convolution(Lowering& lowering, const Operation& operation) {
  if (lower_integer_convolution(lowering, operation)) return true;
  return lower_dense<dnnl::convolution_forward>(lowering, operation, dnnl::algorithm::convolution_direct, false);
}

bool lower_deconvolution(Lowering& lowering, const Operation& operation) {
  // Pads from output_shape or auto_pad follow rules of their own: left to the evaluator.
  if (operation.main.attributes.contains("output_shape") || operation.main.attributes.contains("auto_pad")) return false;
  return lower_dense<dnnl::deconvolution_forward>(lowering, operation, dnnl::algorithm::deconvolution_direct, true);
}

}  // namespace deepgap
