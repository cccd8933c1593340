// Convolutions, and products with constant weights, as problems for the kernel families of convolution.h.
#include "engine/gpu/float8.h"
#include "engine/gpu/operators.h"
#include "engine/gpu/windows.h"
#include "engine/passes/chains.h"
#include "model/eval/rearrange.h"
#include "model/graph_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

namespace deepgap::gpu {
namespace {

std::string precision_name(ComputeType compute) {
  constexpr const char* names[] = {"fp32", "tf32", "fp16", "bf16", "int8", "fp8"};
  return names[static_cast<size_t>(compute)];
}

Element operand_element(ComputeType compute) {
  if (compute == ComputeType::f8) return Element::e4m3;
  return compute == ComputeType::f16 ? Element::f16 : compute == ComputeType::bf16 ? Element::bf16 : Element::f32;
}

// A dense operation on its way to a Choice.
struct Dense {
  Convolution problem;
  Tensor weights;           // [out_channels, in_channels / groups, kernel_h, kernel_w]: float32, or int8
  std::vector<float> bias;  // per output channel; may be empty
  ValueId source = no_value;
  Form source_form, target_form;
  size_t channel_axis = 1;  // channel axis of the result
  int64_t in_pitch = 0;     // 0: the source form's
  double factor = 1;        // factor of the sums
};

// Sets the meaning of integers; returns false if this is not a product of integers that the kernels have.
bool set_types(Lowering& lowering, const Operation& operation, Convolution& problem) {
  if (!operation.is_quantized()) {
    const bool float8 = lowering.numbers().products_in_float8 && multiplies_in_float8(lowering.graph(), operation);
    problem.compute = float8 ? ComputeType::f8 : lowering.numbers().compute;
    // Tensor cores do not serve a channel alone: nothing is won by rounding its factors.
    if (problem.compute == ComputeType::tf32 && is_depthwise(lowering.graph(), operation.main)) problem.compute = ComputeType::f32;
    problem.source = operand_element(problem.compute);
    return lowering.type(operation.main.inputs[0]) == DataType::f32;
  }
  const auto &source = operation.integers[0], &weights = operation.integers.at(1);
  if (!source || !weights || !source->per_tensor()) return false;
  const bool centered = std::all_of(weights->zero_points.begin(), weights->zero_points.end(), [](int32_t zero) { return zero == 0; });
  if (!centered || weights->type != DataType::i8) return false;
  problem.compute = ComputeType::i8;
  problem.source = element_of(source->type);
  problem.source_zero = source->zero_point();
  return true;
}

// Sum of the products that one result would have of ones.
float weight_sum(const Dense& dense, int64_t out) {
  const int64_t each = element_count(dense.weights.shape) / dense.weights.shape[0];
  const auto* from = reinterpret_cast<const int8_t*>(dense.weights.data.get()) + out * each;
  return static_cast<float>(std::accumulate(from, from + each, int64_t{0}));
}

std::vector<float> scale_bias(const Operation& operation, const Dense& dense, const EpilogueParts& parts) {
  const auto pitch = static_cast<size_t>(dense.problem.out_pitch), channels = static_cast<size_t>(dense.problem.out_channels);
  std::vector<float> both(2 * pitch, 0.0F);
  for (size_t c = 0; c < channels; ++c) {
    double scale = dense.factor, bias = dense.bias.empty() ? 0 : dense.bias[c];
    if (dense.problem.compute == ComputeType::i8) {
      const auto& scales = operation.integers[1]->scales;
      scale *= static_cast<double>(operation.integers[0]->scale()) * scales[scales.size() == 1 ? 0 : c];
      bias -= scale * dense.problem.source_zero * weight_sum(dense, static_cast<int64_t>(c));
    }
    if (!parts.factors.empty()) {
      scale *= parts.factors[c];
      bias = bias * parts.factors[c] + parts.offsets[c];
    }
    both[c] = static_cast<float>(scale);
    both[pitch + c] = static_cast<float>(bias);
  }
  return both;
}

// Weights as large as FP8 allows, and what the sums are multiplied by for it.
void scale_for_float8(Dense& dense, std::vector<float>& both) {
  const auto channels = static_cast<size_t>(dense.problem.out_channels);
  Tensor scaled = make_tensor(DataType::f32, dense.weights.shape);
  const auto from = dense.weights.as<float>();
  const auto to = writable<float>(scaled);
  const size_t each = from.size() / channels;
  for (size_t c = 0; c < channels; ++c) {
    float largest = 0;
    for (size_t i = c * each; i < (c + 1) * each; ++i) largest = std::max(largest, std::fabs(from[i]));
    const float scale = largest > 0 ? largest / largest_e4m3 : 1;
    for (size_t i = c * each; i < (c + 1) * each; ++i) to[i] = from[i] / scale;
    both[c] *= scale;
  }
  dense.weights = scaled;
}

// Sums of numbers have no scale in the kernels: it goes into the weights.
void scale_weights(Dense& dense, std::vector<float>& both) {
  const auto channels = static_cast<size_t>(dense.problem.out_channels);
  if (dense.problem.compute == ComputeType::f8) return scale_for_float8(dense, both);
  if (dense.problem.compute == ComputeType::i8 ||
      std::all_of(both.begin(), both.begin() + static_cast<std::ptrdiff_t>(channels), [](float s) { return s == 1.0F; }))
    return;
  Tensor scaled = make_tensor(DataType::f32, dense.weights.shape);
  const auto from = dense.weights.as<float>();
  const auto to = writable<float>(scaled);
  const size_t each = from.size() / channels;
  for (size_t i = 0; i < from.size(); ++i) to[i] = from[i] * both[i / each];
  dense.weights = scaled;
  std::fill_n(both.begin(), channels, 1.0F);
}

void set_target(const Operation& operation, EpilogueParts& parts, Element target, bool last) {
  parts.epilogue.target = target;
  if (!operation.result || !last) return;
  parts.epilogue.target_inverse = 1 / operation.result->scale();
  parts.epilogue.target_zero = operation.result->zero_point();
}

// The buffer that the epilogue reads besides the sums, in the form of the result; -1: none.
BufferId read_residual(Lowering& lowering, EpilogueParts& parts, const Form& form) {
  if (!parts.residual) return -1;
  parts.epilogue.residual = lowering.native(*parts.residual).form.element;
  return lowering.read(*parts.residual, {parts.epilogue.residual, form.channels_last, form.pitch}).buffer;
}

// The step, and what does not fit into its epilogue as one behind it.
bool emit(Lowering& lowering, const Operation& operation, Dense dense) {
  if (operation.result && !operation.result->per_tensor()) return false;
  const Shape& shape = lowering.shape(operation.output);
  EpilogueParts parts = epilogue_of(lowering, operation, dense.problem.out_channels, dense.channel_axis);
  const bool whole = parts.used == operation.posts.size();
  const ValueId target = whole ? operation.output : lowering.add_value(DataType::f32, shape);
  const Element element = lowering.stored(target);
  const Operand source = lowering.read(dense.source, dense.source_form);
  const Form form = retyped(dense.target_form, element, shape);
  dense.problem.in_pitch = dense.in_pitch != 0 ? dense.in_pitch : dense.source_form.pitch;
  dense.problem.out_pitch = form.pitch;
  set_target(operation, parts, element, whole);
  Step step{.name = operation.name, .op = operation.main.op};
  step.reads = {source.buffer};
  const BufferId residual = read_residual(lowering, parts, form);
  if (residual >= 0) step.reads.push_back(residual);
  const Operand out = lowering.write(target, form);
  if (out.rounded) parts.epilogue.steps.push_back({EpilogueStep::Kind::activation, "rounded_to_tf32(v)"});
  step.writes = {out.buffer};
  dense.problem.epilogue = parts.epilogue;
  auto both = scale_bias(operation, dense, parts);
  scale_weights(dense, both);
  step.roles = {source.buffer, -1, -1, residual, out.buffer, -1};
  step.choice = Choice{dense.problem, dense.weights, std::move(both)};
  lowering.count(operation, precision_name(dense.problem.compute));
  lowering.step(std::move(step));
  if (!whole) lower_posts(lowering, operation, target, parts.used);
  return true;
}

std::vector<float> bias_of(const Lowering& lowering, const Node& node, size_t channels, bool& fits) {
  if (node.inputs.size() < 3 || node.inputs[2] == no_value) return {};
  const Tensor* bias = lowering.constant(node.inputs[2]);
  fits = bias != nullptr && bias->type == DataType::f32 && element_count(bias->shape) == static_cast<int64_t>(channels);
  if (!fits) return {};
  const auto numbers = bias->as<float>();
  return {numbers.begin(), numbers.end()};
}

bool is_weight(const Lowering& lowering, const Operation& operation, ValueId id) {
  const Tensor* tensor = lowering.constant(id);
  return tensor != nullptr && tensor->type == (operation.is_quantized() ? DataType::i8 : DataType::f32) && element_count(tensor->shape) > 0;
}

}  // namespace

namespace {

// Images of few channels need not be as wide as a vector where a kernel of their own reads them.
Form source_form(const Lowering& lowering, Convolution problem, const Shape& in) {
  constexpr int64_t few = 4;
  Form form = channels_last_form(problem.source, in);
  problem.in_pitch = few;
  problem.out_pitch = channels_last_form(problem.source, {1, problem.out_channels}).pitch;
  problem.epilogue.target = problem.source;
  if (problem.in_channels <= few && !stem_variants(problem, lowering.chip()).empty()) form.pitch = few;
  return form;
}

constexpr int64_t patch_pitch = 4;  // numbers per pixel

// Windows that lie side by side over an image of few channels, as the first layer of a transformer has them.
bool is_patches(const Convolution& p) {
  const auto side_by_side = [](int64_t kernel, int64_t stride, int64_t pad, int64_t dilation, int64_t in, int64_t out) {
    return kernel == stride && pad == 0 && dilation == 1 && in == out * kernel;
  };
  return p.groups == 1 && p.in_channels <= patch_pitch && p.kernel_w * patch_pitch * static_cast<int64_t>(byte_size(p.source)) % 16 == 0 &&
         side_by_side(p.kernel_h, p.stride_h, p.pad_top, p.dilation_h, p.in_h, p.out_h) &&
         side_by_side(p.kernel_w, p.stride_w, p.pad_left, p.dilation_w, p.in_w, p.out_w);
}

// A row of a window is one pixel of many channels, a row of windows an image: a convolution that every family does well.
void take_patches(Dense& dense) {
  Convolution& p = dense.problem;
  const Tensor before = dense.weights;  // [out, channels, rows, columns]
  const int64_t channels = p.in_channels, rows = p.kernel_h, columns = p.kernel_w, each = columns * patch_pitch;
  dense.weights = make_tensor(before.type, {p.out_channels, each, rows, 1});
  const auto size = byte_size(before.type);
  auto* to = writable<std::byte>(dense.weights).data();
  std::memset(to, 0, dense.weights.bytes());
  for (int64_t out = 0; out < p.out_channels; ++out)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t y = 0; y < rows; ++y)
        for (int64_t x = 0; x < columns; ++x)
          std::memcpy(to + static_cast<size_t>((out * each + x * patch_pitch + c) * rows + y) * size,
                      before.data.get() + static_cast<size_t>(((out * channels + c) * rows + y) * columns + x) * size, size);
  p.batch *= p.out_h;
  p.in_h = rows, p.out_h = 1, p.stride_h = 1;
  p.in_w = p.out_w, p.kernel_w = 1, p.stride_w = 1;
  p.in_channels = dense.in_pitch = each;
  dense.source_form.pitch = patch_pitch;
}

}  // namespace

bool lower_convolution(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const size_t rank = lowering.shape(node.inputs[0]).size();
  if ((rank != 3 && rank != 4) || !is_weight(lowering, operation, node.inputs[1])) return lower_direct_windows(lowering, operation);
  const Shape &in = lowering.shape(node.inputs[0]), &out = lowering.shape(operation.output);
  const Tensor& weights = *lowering.constant(node.inputs[1]);
  Dense dense;
  Convolution& problem = dense.problem = convolution_sizes(node, in, out, weights.shape);
  if (!set_types(lowering, operation, problem)) return false;
  bool fits = true;
  dense.bias = bias_of(lowering, node, static_cast<size_t>(out[1]), fits);
  if (!fits || element_count(out) == 0 || element_count(in) == 0) return false;
  dense.weights = weights;
  dense.weights.shape = {weights.shape[0], weights.shape[1], problem.kernel_h, problem.kernel_w};
  dense.source = node.inputs[0];
  dense.source_form = source_form(lowering, problem, in);
  dense.target_form = channels_last_form(problem.source, out);
  if (is_patches(problem)) take_patches(dense);
  return emit(lowering, operation, std::move(dense));
}

namespace {

// The constant factor as weights [columns of the result, k].
bool set_factor(const Lowering& lowering, const Operation& operation, bool turned, Dense& dense) {
  const Tensor& factor = *lowering.constant(operation.main.inputs[1]);
  Shape shape = factor.shape;
  while (shape.size() > 2 && shape.front() == 1) shape.erase(shape.begin());
  if (shape.size() != 2) return false;
  Tensor flat = factor;
  flat.shape = shape;
  dense.weights = turned ? flat : transposed(flat, shape, std::array<int64_t, 2>{1, 0});
  dense.problem.in_channels = dense.weights.shape[1];
  dense.problem.out_channels = dense.weights.shape[0];
  dense.weights.shape = {dense.weights.shape[0], dense.weights.shape[1], 1, 1};
  return true;
}

}  // namespace

bool lower_weight_product(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  const bool gemm = node.op == "Gemm";
  if (!is_weight(lowering, operation, node.inputs[1]) || attribute_int(node, "transA", 0) != 0) return false;
  const Shape &in = lowering.shape(node.inputs[0]), &out = lowering.shape(operation.output);
  if (in.size() < 2 || element_count(in) == 0 || element_count(out) == 0) return false;
  Dense dense;
  if (!set_types(lowering, operation, dense.problem) ||
      !set_factor(lowering, operation, gemm && attribute_int(node, "transB", 0) != 0, dense))
    return false;
  bool fits = true;
  if (gemm) dense.bias = bias_of(lowering, node, static_cast<size_t>(dense.problem.out_channels), fits);
  if (!fits) return false;
  dense.factor = attribute_float(node, "alpha", 1.0F);
  for (float& b : dense.bias) b *= attribute_float(node, "beta", 1.0F);
  dense.problem.batch = element_count(in) / in.back();
  dense.source = node.inputs[0];
  dense.source_form = rows_form(dense.problem.source, in);
  dense.target_form = rows_form(dense.problem.source, out);
  dense.channel_axis = out.size() - 1;
  return emit(lowering, operation, std::move(dense));
}

}  // namespace deepgap::gpu
