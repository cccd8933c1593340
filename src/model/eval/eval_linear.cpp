// Gemm and MatMul.
#include "model/eval/operator.h"
#include "model/eval/product.h"
#include "model/eval/strided.h"

#include <fmt/format.h>

namespace deepgap {

namespace {

// columns[k][n] = data[k * depth_stride + n * column_stride]
PackColumns packer(const float* data, int64_t depth_stride, int64_t column_stride) {
  return [=](const ColumnPanel& panel) {
    for (int64_t n = 0; n < panel.count; ++n)
      for (int64_t k = panel.depth_begin; k < panel.depth_end; ++k)
        *panel.at(k, n) = data[k * depth_stride + (panel.column + n) * column_stride];
  };
}

// The value of C, of any shape that broadcasts to [rows, columns], at a place.
struct Addend {
  const float* data = nullptr;
  int64_t row_stride = 0, column_stride = 0;
  float at(int64_t row, int64_t column) const { return data[row * row_stride + column * column_stride]; }
};

Addend addend_of(const Call& call, const Shape& result) {
  if (!call.has(2)) return {};
  const Tensor& c = call.input(2);
  call.expect(c, DataType::f32);
  if (c.shape.size() > 2 || broadcast_shape(call, c.shape, result) != result) call.fail("C does not broadcast to the result");
  const auto strides = broadcast_strides(c.shape, result);
  return {c.as<float>().data(), strides[0], strides[1]};
}

std::vector<Tensor> gemm(const Call& call) {
  const Tensor& a = call.input(0);
  const Tensor& b = call.input(1);
  call.expect(a, DataType::f32);
  call.expect(b, DataType::f32);
  if (a.shape.size() != 2 || b.shape.size() != 2) call.fail("A and B must have two dimensions");
  const bool turn_a = call.int_of("transA", 0) != 0, turn_b = call.int_of("transB", 0) != 0;
  const int64_t rows = a.shape[turn_a ? 1 : 0], depth = a.shape[turn_a ? 0 : 1];
  const int64_t columns = b.shape[turn_b ? 0 : 1];
  if (b.shape[turn_b ? 1 : 0] != depth) call.fail(fmt::format("A gives {} values to a sum, B {}", depth, b.shape[turn_b ? 1 : 0]));
  const float alpha = call.float_of("alpha", 1.0f), beta = call.float_of("beta", 1.0f);
  Tensor y = make_tensor(DataType::f32, {rows, columns});
  const Addend c = addend_of(call, y.shape);
  float* out = writable<float>(y).data();
  const LeftMatrix left{a.as<float>().data(), rows, depth, turn_a ? 1 : depth, turn_a ? rows : 1};
  multiply(left, columns, packer(b.as<float>().data(), turn_b ? 1 : columns, turn_b ? depth : 1),
           [&](int64_t row, int64_t column, int64_t count, const float* values) {
             for (int64_t i = 0; i < count; ++i) {
               const float scaled = alpha * values[i];
               out[row * columns + column + i] = c.data ? scaled + beta * c.at(row, column + i) : scaled;
             }
           });
  return {y};
}

void multiply_matrices(const float* a, const float* b, float* out, int64_t rows, int64_t depth, int64_t columns) {
  multiply({a, rows, depth, depth, 1}, columns, packer(b, columns, 1),
           [=](int64_t row, int64_t column, int64_t count, const float* values) {
             std::copy(values, values + count, out + row * columns + column);
           });
}

// Position of a batch item in an operand whose leading dimensions broadcast to `batch`.
int64_t item_offset(const Shape& lead, const Shape& batch, int64_t item) {
  const auto strides = broadcast_strides(lead, batch);
  int64_t offset = 0;
  for (size_t d = batch.size(); d-- > 0; item /= batch[d]) offset += item % batch[d] * strides[d];
  return offset;
}

std::vector<Tensor> matmul(const Call& call) {
  Tensor a = call.input(0), b = call.input(1);
  call.expect(a, DataType::f32);
  call.expect(b, DataType::f32);
  if (a.shape.empty() || b.shape.empty()) call.fail("an input is a single number");
  const bool row = a.shape.size() == 1, column = b.shape.size() == 1;
  if (row) a.shape.insert(a.shape.begin(), 1);
  if (column) b.shape.push_back(1);
  const int64_t rows = a.shape.end()[-2], depth = a.shape.end()[-1], columns = b.shape.end()[-1];
  if (b.shape.end()[-2] != depth) call.fail(fmt::format("A gives {} values to a sum, B {}", depth, b.shape.end()[-2]));
  const Shape lead_a(a.shape.begin(), a.shape.end() - 2), lead_b(b.shape.begin(), b.shape.end() - 2);
  const Shape batch = broadcast_shape(call, lead_a, lead_b);
  Shape shape = batch;
  if (!row) shape.push_back(rows);
  if (!column) shape.push_back(columns);
  Tensor y = make_tensor(DataType::f32, shape);
  float* out = writable<float>(y).data();
  const float* from_a = a.as<float>().data();
  const float* from_b = b.as<float>().data();
  if (lead_b.empty() && !lead_a.empty()) {  // one matrix for all: a single tall product
    multiply_matrices(from_a, from_b, out, product_of(lead_a) * rows, depth, columns);
    return {y};
  }
  for (int64_t item = 0; item < product_of(batch); ++item)
    multiply_matrices(from_a + item_offset(lead_a, batch, item) * rows * depth, from_b + item_offset(lead_b, batch, item) * depth * columns,
                      out + item * rows * columns, rows, depth, columns);
  return {y};
}

const bool registered[] = {add_operator("Gemm", gemm), add_operator("MatMul", matmul)};

}  // namespace

}  // namespace deepgap
