#include "model/integer_values.h"

#include "model/eval/element_types.h"
#include "model/graph_tools.h"
#include "model/input_uses.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

namespace deepgap {

namespace {

using Limit = std::optional<int64_t>;

Limit least(Limit a, Limit b) { return a && b ? std::min(*a, *b) : a ? a : b; }

int64_t attribute_of(const InputUse& use, std::string_view name, int64_t fallback) { return attribute_int(use.node, name, fallback); }

// Tuples of indices, along the last dimension of `indices`, each into an axis of `data` from `first` on.
Limit of_tuples(const InputUse& use, size_t data, size_t indices, int64_t first) {
  const auto all = use.dims(indices);
  const Limit length = all && !all->empty() ? use.size(indices, -1) : std::nullopt;
  Limit limit;
  for (int64_t i = 0; length && i < *length; ++i) limit = least(limit, use.size(data, first + i));
  return limit;
}

// The depth, which may be of any type.
Limit of_one_hot(const InputUse& use) {
  const Tensor* depth = use.constant(1);
  if (depth == nullptr || depth->data == nullptr || element_count(depth->shape) != 1) return std::nullopt;
  const double number = converted(*depth, DataType::f64).as<double>()[0];
  return number >= 1 && number < 0x1p31 ? Limit(static_cast<int64_t>(number)) : std::nullopt;
}

// A shift by as many bits as the type has, or more, is not defined.
Limit of_shift(const InputUse& use) {
  const Value& shifted = use.graph().values[static_cast<size_t>(use.node.inputs[use.input])];
  return static_cast<int64_t>(8 * byte_size(shifted.type));
}

// Into the feature map that a pool made smaller: of what is made, else of what is there.
Limit of_unpooling(const InputUse& use) {
  Limit product;
  const auto all = use.dims(0);
  for (size_t i = 2; all && i < all->size(); ++i) {
    const Limit size = use.size(0, static_cast<int64_t>(i));
    if (!size) return std::nullopt;
    product = product.value_or(1) * *size;
  }
  return product;
}

// Where the update begins, which has to end within the axis.
Limit of_tensor_scatter(const InputUse& use) {
  const int64_t axis = attribute_of(use, "axis", -2);
  const Limit all = use.size(0, axis), update = use.size(1, axis);
  return all && update ? std::optional(std::max<int64_t>(1, *all - *update + 1)) : all;
}

struct IndexInput {
  std::string_view op, domain;
  size_t input;
  Limit (*limit)(const InputUse& use);
};

constexpr std::string_view microsoft = "com.microsoft";

// Operators that take indices, and below what these must lie.
const std::vector<IndexInput>& index_inputs() {
  static const std::vector<IndexInput> all{
      {"Gather", "", 1, [](const InputUse& use) { return use.size(0, attribute_of(use, "axis", 0)); }},
      {"GatherElements", "", 1, [](const InputUse& use) { return use.size(0, attribute_of(use, "axis", 0)); }},
      {"GatherND", "", 1, [](const InputUse& use) { return of_tuples(use, 0, 1, attribute_of(use, "batch_dims", 0)); }},
      {"Scatter", "", 1, [](const InputUse& use) { return use.size(0, attribute_of(use, "axis", 0)); }},
      {"ScatterElements", "", 1, [](const InputUse& use) { return use.size(0, attribute_of(use, "axis", 0)); }},
      {"ScatterND", "", 1, [](const InputUse& use) { return of_tuples(use, 0, 1, 0); }},
      {"TensorScatter", "", 2, of_tensor_scatter},
      {"OneHot", "", 0, of_one_hot},
      {"BitShift", "", 1, of_shift},
      {"NegativeLogLikelihoodLoss", "", 1, [](const InputUse& use) { return use.size(0, 1); }},
      {"SoftmaxCrossEntropyLoss", "", 1, [](const InputUse& use) { return use.size(0, 1); }},
      {"RoiAlign", "", 2, [](const InputUse& use) { return use.size(0, 0); }},
      {"MaxUnpool", "", 1, of_unpooling},
      {"RotaryEmbedding", "", 3, [](const InputUse& use) { return use.size(1, 0); }},
      {"RotaryEmbedding", microsoft, 1, [](const InputUse& use) { return use.size(2, 0); }},
      {"GatherBlockQuantized", microsoft, 1, [](const InputUse& use) { return use.size(0, attribute_of(use, "gather_axis", 0)); }},
      {"EmbedLayerNormalization", microsoft, 0, [](const InputUse& use) { return use.size(2, 0); }},
      {"EmbedLayerNormalization", microsoft, 1, [](const InputUse& use) { return use.size(4, 0); }},
      {"EmbedLayerNormalization", microsoft, 8, [](const InputUse& use) { return use.size(3, 0); }},
      {"QEmbedLayerNormalization", microsoft, 0, [](const InputUse& use) { return use.size(2, 0); }},
      {"QEmbedLayerNormalization", microsoft, 1, [](const InputUse& use) { return use.size(4, 0); }},
  };
  return all;
}

Limit limit_of(const InputUse& use) {
  for (const IndexInput& index : index_inputs())
    if (use.node.op == index.op && use.node.domain == index.domain && use.input == index.input) return index.limit(use);
  return std::nullopt;
}

// The whole numbers that the type holds without gaps; of 32 bits and more as many as are needed.
NumberRange range_of(DataType type) {
  switch (type) {
    case DataType::boolean:
      return {0, 1};
    case DataType::i8:
      return {-128, 127};
    case DataType::u8:
      return {0, 255};
    case DataType::i16:
      return {-32'768, 32'767};
    case DataType::u16:
      return {0, 65'535};
    case DataType::u32:
    case DataType::u64:
      return {0, 0x1p31 - 1};
    case DataType::bf16:
      return {-256, 256};
    case DataType::f16:
      return {-2'048, 2'048};
    case DataType::f32:
      return {-0x1p24, 0x1p24};
    default:
      return {-0x1p31, 0x1p31 - 1};
  }
}

// The whole numbers within; where there are none (no number lies inside every axis), the one nearest to them.
IntegerRange whole_numbers(NumberRange wanted, DataType type) {
  const NumberRange all = range_of(type);
  const double least = std::ceil(std::clamp(wanted.least, all.least, all.most));
  const double most = std::floor(std::clamp(wanted.most, all.least, all.most));
  return {static_cast<int64_t>(least), std::max<int64_t>(1, static_cast<int64_t>(most - least) + 1)};
}

}  // namespace

std::map<std::string, IntegerRange> integer_values(const Graph& graph) {
  std::map<std::string, IntegerRange> values;
  for (const ValueId id : graph.inputs) {
    const Value& input = graph.values[static_cast<size_t>(id)];
    std::optional<NumberRange> found;
    visit_uses(graph, id, true, [&](const InputUse& use) {
      const Limit limit = limit_of(use);
      const auto range = limit ? use.before_way({0, static_cast<double>(std::max<int64_t>(*limit, 1) - 1)}) : std::nullopt;
      if (range) found = found ? NumberRange{std::max(found->least, range->least), std::min(found->most, range->most)} : *range;
    });
    const bool may_be_mask = input.type == DataType::i64 || input.type == DataType::i32;
    if (found || may_be_mask) values[input.name] = found ? whole_numbers(*found, input.type) : IntegerRange{};
  }
  return values;
}

}  // namespace deepgap
