// Convolutions and products of integers by our own kernels, where the CPU's products of bytes saturate.
#include "engine/cpu/integer_depthwise.h"
#include "engine/cpu/integer_winograd.h"
#include "engine/cpu/isa.h"
#include "engine/cpu/operators.h"
#include "engine/passes/edit.h"
#include "model/graph_tools.h"

#include <fmt/core.h>
#include <omp.h>

namespace deepgap {
namespace {

using dnnl::memory;

// Numbers of a constant that has one element, or one for each of `channels`; empty for anything else.
std::vector<float> by_channel(const Lowering& lowering, ValueId id, int64_t channels) {
  const auto numbers = constant_values(lowering.graph(), id);
  if (numbers.size() == 1) return std::vector<float>(static_cast<size_t>(channels), static_cast<float>(numbers[0]));
  if (static_cast<int64_t>(numbers.size()) != channels) return {};
  return {numbers.begin(), numbers.end()};
}

// The operations that are fused after the sums, and the value that is added to them, if any.
struct Rest {
  IntegerEpilogue epilogue;
  ValueId residual = no_value;
};

float first_integer_of(const Quantization& quantization) { return quantization.type == DataType::u8 ? 0.0F : -128.0F; }

IntegerEpilogue::Stage rounding(const Quantization& quantization) {
  const float first = first_integer_of(quantization) - static_cast<float>(quantization.zero_point());
  return {.kind = IntegerEpilogue::Stage::Kind::round,
          .step = quantization.scale(),
          .steps_per_unit = 1 / quantization.scale(),
          .lowest = first,
          .highest = first + 255};
}

// False: the post is not one that the kernel has.
bool add_post(const Lowering& lowering, const Operation& operation, const Post& post, Rest& rest) {
  using Stage = IntegerEpilogue::Stage;
  auto& stages = rest.epilogue.stages;
  if (post.kind == Post::Kind::activation) {
    stages.push_back({.kind = Stage::Kind::activation, .activation = post.activation});
  } else if (post.kind == Post::Kind::round) {
    if (!post.quantization->per_tensor()) return false;
    stages.push_back(rounding(*post.quantization));
  } else if (lowering.constant(post.operand) != nullptr) {
    auto channels = by_channel(lowering, post.operand, rest.epilogue.channels);
    if (channels.empty()) return false;
    stages.push_back({.kind = post.kind == Post::Kind::add ? Stage::Kind::add : Stage::Kind::multiply, .channels = std::move(channels)});
  } else {
    const bool whole = lowering.dims(post.operand) == lowering.dims(operation.output);
    if (post.kind != Post::Kind::add || rest.residual != no_value || !whole) return false;
    Stage stage{.kind = Stage::Kind::residual};
    if (post.quantization) {
      if (!post.quantization->per_tensor()) return false;
      stage.residual = post.quantization->type;
      stage.step = post.quantization->scale();
      stage.zero = static_cast<float>(post.quantization->zero_point());
    } else if (lowering.type(post.operand) != DataType::f32) {
      return false;
    }
    rest.residual = post.operand;
    stages.push_back(std::move(stage));
  }
  return true;
}

// `channel_axis`: of the weights, along the `channels` of the result.
std::optional<Rest> rest_of(const Lowering& lowering, const Operation& operation, int64_t channels, size_t channel_axis) {
  const auto &source = *operation.integers[0], &weights = *operation.integers[1];
  if (!source.per_tensor() || (!weights.per_tensor() && weights.axis != channel_axis)) return std::nullopt;
  Rest rest;
  IntegerEpilogue& e = rest.epilogue;
  e.channels = channels;
  for (int64_t c = 0; c < channels; ++c)
    e.scale.push_back(source.scale() * weights.scales[weights.per_tensor() ? 0 : static_cast<size_t>(c)]);
  const auto& inputs = operation.main.inputs;
  if (inputs.size() > 2 && inputs[2] != no_value) {
    e.bias = by_channel(lowering, inputs[2], channels);
    if (e.bias.empty()) return std::nullopt;
  }
  for (const Post& post : operation.posts)
    if (!add_post(lowering, operation, post, rest)) return std::nullopt;
  if (operation.result) {
    if (!operation.result->per_tensor()) return std::nullopt;
    e.result = operation.result->type;
    e.quanta_per_unit = 1 / operation.result->scale();
    e.result_zero = operation.result->zero_point();
  }
  return rest;
}

// Returns whether our kernels compute the operation: they need constant int8 weights around 0.
bool is_ours(const Lowering& lowering, const Operation& operation) {
  if (multiplies_integers_exactly() || !has_integer_tiles() || operation.integers.size() < 2) return false;
  if (!operation.integers[0] || !operation.integers[1] || lowering.number_type() != memory::data_type::f32) return false;
  const Tensor* weights = lowering.constant(operation.main.inputs[1]);
  const auto& zeros = operation.integers[1]->zero_points;
  return weights != nullptr && weights->type == DataType::i8 && std::all_of(zeros.begin(), zeros.end(), [](int zero) { return zero == 0; });
}

// The step: `source` and `target` are how the layer reads and writes, `weights` are ordered by outputs first.
template <typename Kernel>
bool add_kernel(Lowering& lowering, const Operation& operation, const Kernel& kernel, ValueId residual, const Tensor& weights,
                const memory::desc& source, const memory::desc& target) {
  const ValueId in = operation.main.inputs[0], factors = operation.main.inputs[1];
  std::vector<BufferId> reads{lowering.read(0, in, source).buffer,
                              lowering.read_packed(factors, kernel.layout(), [&] { return kernel.pack(weights); })};
  if (residual != no_value) {
    const auto type = lowering.type(residual) == DataType::f32 ? memory::data_type::f32 : lowering.plain(residual).get_data_type();
    const auto desc = retyped(target, type);
    if (!desc) return false;
    reads.push_back(lowering.read(0, residual, *desc).buffer);
  }
  const Shape scratch{static_cast<int64_t>(kernel.scratch_bytes())};
  std::vector<BufferId> writes{lowering.write(0, operation.output, target).buffer,
                               lowering.write(0, no_value, plain_desc(DataType::u8, scratch)).buffer};
  const bool adds = residual != no_value;
  const auto run = [kernel, adds](std::span<std::byte* const> at) {
    const size_t first = adds ? 3 : 2;
    kernel.run(at[0], adds ? at[2] : nullptr, at[1], at[first + 1], at[first]);
  };
  lowering.step(operation, run, std::move(reads), std::move(writes), "int8");
  return true;
}

bool add_dense(Lowering& lowering, const Operation& operation, IntegerLayer layer, ValueId residual, const Tensor& weights,
               const memory::desc& source, const memory::desc& target) {
  if (layer.samples * layer.pixels() * layer.groups * layer.outputs * layer.terms() == 0) return false;  // nothing to cut into pieces
  if (!sums_fit(layer, weights)) return false;
  const int threads = omp_get_max_threads();  // as many as will run it
  if (IntegerDepthwise::can(layer, weights))
    return add_kernel(lowering, operation, IntegerDepthwise(std::move(layer), threads), residual, weights, source, target);
  if (const int64_t tile = IntegerWinograd::choose(layer, weights, threads); tile != 0)
    return add_kernel(lowering, operation, IntegerWinograd(std::move(layer), tile, threads), residual, weights, source, target);
  return add_kernel(lowering, operation, IntegerDense(std::move(layer), threads), residual, weights, source, target);
}

memory::data_type result_type(const Lowering& lowering, const Operation& operation) {
  return operation.result ? lowering.plain(operation.output).get_data_type() : memory::data_type::f32;
}

// Rows and columns exchanged.
Tensor transposed(const Tensor& matrix) {
  const auto rows = static_cast<size_t>(matrix.shape[0]), columns = static_cast<size_t>(matrix.shape[1]);
  Tensor result = make_tensor(DataType::i8, {matrix.shape[1], matrix.shape[0]});
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c) writable<int8_t>(result)[c * rows + r] = matrix.as<int8_t>()[r * columns + c];
  return result;
}

}  // namespace

bool lower_integer_convolution(Lowering& lowering, const Operation& operation) {
  const Node& node = operation.main;
  if (!is_ours(lowering, operation)) return false;
  const auto source = lowering.dims(node.inputs[0]), target = lowering.dims(operation.output), weights = lowering.dims(node.inputs[1]);
  const size_t spatial = source.size() - 2;
  if (source.size() < 3 || spatial > 2) return false;
  auto rest = rest_of(lowering, operation, target[1], 0);
  if (!rest) return false;
  const Windows windows = windows_of(node, source, target, std::span(weights).subspan(2));
  IntegerLayer layer;
  layer.samples = source[0];
  layer.groups = attribute_int(node, "group", 1);
  layer.depth = weights[1];
  layer.outputs = weights[0] / layer.groups;
  for (size_t i = 0; i < spatial; ++i) {
    const size_t axis = 2 - spatial + i;  // one dimension is an image of one row
    layer.source[axis] = source[i + 2];
    layer.target[axis] = target[i + 2];
    layer.kernel[axis] = windows.kernel[i];
    layer.stride[axis] = windows.strides[i];
    layer.dilation[axis] = windows.dilations[i] + 1;
    layer.before[axis] = windows.before[i];
  }
  layer.type = operation.integers[0]->type;
  layer.zero = operation.integers[0]->zero_point();
  layer.epilogue = std::move(rest->epilogue);
  return add_dense(lowering, operation, std::move(layer), rest->residual, *lowering.constant(node.inputs[1]),
                   channels_last_desc(lowering.plain(node.inputs[0]).get_data_type(), source),
                   channels_last_desc(result_type(lowering, operation), target));
}

bool lower_integer_product(Lowering& lowering, const Operation& operation, bool transposes_weights) {
  const Node& node = operation.main;
  if (!is_ours(lowering, operation)) return false;
  const Tensor& weights = *lowering.constant(node.inputs[1]);
  const auto source = lowering.dims(node.inputs[0]);
  if (weights.shape.size() != 2 || source.size() < 2) return false;
  const int64_t outputs = weights.shape[transposes_weights ? 0 : 1];
  auto rest = rest_of(lowering, operation, outputs, transposes_weights ? 0 : 1);
  if (!rest) return false;
  IntegerLayer layer;
  layer.depth = source.back();
  layer.outputs = outputs;
  layer.source[1] = layer.target[1] = element_count(source) / source.back();
  layer.type = operation.integers[0]->type;
  layer.zero = operation.integers[0]->zero_point();
  layer.epilogue = std::move(rest->epilogue);
  return add_dense(lowering, operation, std::move(layer), rest->residual, transposes_weights ? weights : transposed(weights),
                   lowering.plain(node.inputs[0]),
                   *retyped(plain_desc(DataType::f32, lowering.dims(operation.output)), result_type(lowering, operation)));
}

}  // namespace deepgap
