// Small quantized Graphs built by hand. Only for tests.
#pragma once

#include "engine/passes/test_graphs.h"

#include <algorithm>

namespace deepgap::testing {

struct Grid {
  float scale = 1;
  int zero_point = 0;
  DataType type = DataType::u8;
};

inline Tensor integer_tensor(DataType type, const Shape& shape, const std::vector<int>& values) {
  Tensor tensor = make_tensor(type, shape);
  for (size_t i = 0; i < values.size(); ++i) {
    if (type == DataType::u8) writable<uint8_t>(tensor)[i] = static_cast<uint8_t>(values[i]);
    if (type == DataType::i8) writable<int8_t>(tensor)[i] = static_cast<int8_t>(values[i]);
    if (type == DataType::i32) writable<int32_t>(tensor)[i] = values[i];
  }
  return tensor;
}

struct QuantizedBuilder : GraphBuilder {
  using GraphBuilder::GraphBuilder;

  std::vector<ValueId> with_grid(ValueId x, const Grid& grid) {
    return {x, constant(floats({}, {grid.scale})), constant(integer_tensor(grid.type, {}, {grid.zero_point}))};
  }
  ValueId quantize(ValueId x, const Grid& grid) {
    const ValueId q = node("QuantizeLinear", with_grid(x, grid));
    graph.values[static_cast<size_t>(q)].type = grid.type;
    return q;
  }
  ValueId dequantize(ValueId q, const Grid& grid) { return node("DequantizeLinear", with_grid(q, grid)); }
  ValueId through(ValueId x, const Grid& grid) { return dequantize(quantize(x, grid), grid); }

  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }
  // Returns a grid that holds numbers of about `reach`.
  Grid grid(float reach) {
    const bool is_signed = pick(0, 1) == 1;
    const int zero = is_signed ? pick(-20, 20) : pick(90, 150);
    return {reach * static_cast<float>(pick(900, 1100)) / 100'003, zero,  // ties would be common between round scales
            is_signed ? DataType::i8 : DataType::u8};
  }
  // Adds int8 weights, read through DequantizeLinear; `axis` < 0: one scale.
  ValueId quantized_weights(const Shape& shape, int64_t axis, int64_t fan_in) {
    const auto count = static_cast<size_t>(element_count(shape));
    std::vector<int> values(count);
    for (int& value : values) value = pick(-127, 127);
    const auto scales = static_cast<size_t>(axis < 0 ? 1 : shape[static_cast<size_t>(axis)]);
    std::vector<float> numbers(scales);
    for (float& number : numbers) number = static_cast<float>(pick(50, 150)) / 100 / 73 / std::sqrt(static_cast<float>(fan_in));
    std::vector<ValueId> inputs{constant(integer_tensor(DataType::i8, shape, values)),
                                constant(floats(axis < 0 ? Shape{} : Shape{shape[static_cast<size_t>(axis)]}, numbers))};
    std::map<std::string, Attribute> attributes;
    if (axis >= 0) attributes["axis"] = axis;
    return node("DequantizeLinear", inputs, attributes);
  }
};

}  // namespace deepgap::testing
