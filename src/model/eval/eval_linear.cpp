// Gemm and MatMul. float32 (and 16-bit floats through it) has the fast product; other types multiply plainly, integers
// modulo 2^bits.
#include "model/eval/operator.h"
#include "model/eval/parallel.h"
#include "model/eval/product.h"
#include "model/eval/strided.h"
#include "model/eval/widened.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

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
template <typename T>
struct Addend {
  const T* data = nullptr;
  int64_t row_stride = 0, column_stride = 0;
  T at(int64_t row, int64_t column) const { return data[row * row_stride + column * column_stride]; }
};

template <typename T>
Addend<T> addend_of(const Call& call, const Shape& result) {
  if (!call.has(2)) return {};
  const Tensor& c = call.input(2);
  call.expect(c, call.input(0).type);
  if (c.shape.size() > 2 || broadcast_shape(call, c.shape, result) != result) call.fail("C does not broadcast to the result");
  const auto strides = broadcast_strides(c.shape, result);
  return {c.as<T>().data(), strides[0], strides[1]};
}

// store(row, column, sum of a[row][k] * b[k][column] over k ascending), where both are given by functions.
template <typename Sum, typename Left, typename Right, typename Store>
void multiply_plainly(int64_t rows, int64_t depth, int64_t columns, Left a, Right b, Store store) {
  parallel_for(rows, static_cast<double>(depth * columns) * 2, [&](int64_t row) {
    for (int64_t column = 0; column < columns; ++column) {
      Sum sum = 0;
      for (int64_t k = 0; k < depth; ++k) {
        if constexpr (std::is_floating_point_v<Sum>) {
          sum = std::fma(a(row, k), b(k, column), sum);
        } else {
          sum += static_cast<Sum>(a(row, k)) * static_cast<Sum>(b(k, column));
        }
      }
      store(row, column, sum);
    }
  });
}

// Sums of integers wrap around: computed without a sign, where that is defined.
template <typename T>
using SumOf = typename std::conditional_t<std::is_floating_point_v<T>, std::type_identity<T>, std::make_unsigned<T>>::type;

std::vector<Tensor> gemm_f64(const Call& call, int64_t rows, int64_t depth, int64_t columns) {
  const double* a = call.input(0).as<double>().data();
  const double* b = call.input(1).as<double>().data();
  const bool turn_a = call.int_of("transA", 0) != 0, turn_b = call.int_of("transB", 0) != 0;
  const double alpha = call.float_of("alpha", 1.0f), beta = call.float_of("beta", 1.0f);
  Tensor y = make_tensor(DataType::f64, {rows, columns});
  const auto c = addend_of<double>(call, y.shape);
  double* out = writable<double>(y).data();
  multiply_plainly<double>(
      rows, depth, columns, [=](int64_t row, int64_t k) { return turn_a ? a[k * rows + row] : a[row * depth + k]; },
      [=](int64_t k, int64_t column) { return turn_b ? b[column * depth + k] : b[k * columns + column]; },
      [=](int64_t row, int64_t column, double sum) {
        out[row * columns + column] = c.data ? alpha * sum + beta * c.at(row, column) : alpha * sum;
      });
  return {y};
}

std::vector<Tensor> gemm(const Call& call) {
  const Tensor& a = call.input(0);
  const Tensor& b = call.input(1);
  call.expect(b, a.type);
  if (a.shape.size() != 2 || b.shape.size() != 2) call.fail("A and B must have two dimensions");
  const bool turn_a = call.int_of("transA", 0) != 0, turn_b = call.int_of("transB", 0) != 0;
  const int64_t rows = a.shape[turn_a ? 1 : 0], depth = a.shape[turn_a ? 0 : 1];
  const int64_t columns = b.shape[turn_b ? 0 : 1];
  if (b.shape[turn_b ? 1 : 0] != depth) call.fail(fmt::format("A gives {} values to a sum, B {}", depth, b.shape[turn_b ? 1 : 0]));
  if (a.type == DataType::f64) return gemm_f64(call, rows, depth, columns);
  call.expect(a, DataType::f32);
  const float alpha = call.float_of("alpha", 1.0f), beta = call.float_of("beta", 1.0f);
  Tensor y = make_tensor(DataType::f32, {rows, columns});
  const auto c = addend_of<float>(call, y.shape);
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

// Matrices with leading dimensions that broadcast; a vector is a row on the left, a column on the right.
struct MatrixPair {
  Shape lead_a, lead_b, batch, result;
  int64_t rows, depth, columns;

  int64_t items() const { return product_of(batch); }
  int64_t offset_a(int64_t item) const { return item_offset(lead_a, batch, item) * rows * depth; }
  int64_t offset_b(int64_t item) const { return item_offset(lead_b, batch, item) * depth * columns; }
};

MatrixPair matrices_of(const Call& call) {
  Shape a = call.input(0).shape, b = call.input(1).shape;
  if (a.empty() || b.empty()) call.fail("an input is a single number");
  const bool row = a.size() == 1, column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  MatrixPair pair{{a.begin(), a.end() - 2}, {b.begin(), b.end() - 2}, {}, {}, a.end()[-2], a.end()[-1], b.end()[-1]};
  if (b.end()[-2] != pair.depth) call.fail(fmt::format("A gives {} values to a sum, B {}", pair.depth, b.end()[-2]));
  pair.batch = pair.result = broadcast_shape(call, pair.lead_a, pair.lead_b);
  if (!row) pair.result.push_back(pair.rows);
  if (!column) pair.result.push_back(pair.columns);
  return pair;
}

Tensor matmul_f32(const Call& call, const MatrixPair& pair) {
  Tensor y = make_tensor(DataType::f32, pair.result);
  float* out = writable<float>(y).data();
  const float* a = call.input(0).as<float>().data();
  const float* b = call.input(1).as<float>().data();
  if (pair.lead_b.empty() && !pair.lead_a.empty()) {  // one matrix for all: a single tall product
    multiply_matrices(a, b, out, product_of(pair.lead_a) * pair.rows, pair.depth, pair.columns);
    return y;
  }
  for (int64_t item = 0; item < pair.items(); ++item)
    multiply_matrices(a + pair.offset_a(item), b + pair.offset_b(item), out + item * pair.rows * pair.columns, pair.rows, pair.depth,
                      pair.columns);
  return y;
}

template <typename T>
Tensor matmul_as(const Call& call, const MatrixPair& pair) {
  Tensor y = make_tensor(call.input(0).type, pair.result);
  for (int64_t item = 0; item < pair.items(); ++item) {
    const T* a = call.input(0).as<T>().data() + pair.offset_a(item);
    const T* b = call.input(1).as<T>().data() + pair.offset_b(item);
    T* out = writable<T>(y).data() + item * pair.rows * pair.columns;
    multiply_plainly<SumOf<T>>(
        pair.rows, pair.depth, pair.columns, [&](int64_t row, int64_t k) { return a[row * pair.depth + k]; },
        [&](int64_t k, int64_t column) { return b[k * pair.columns + column]; },
        [&](int64_t row, int64_t column, SumOf<T> sum) { out[row * pair.columns + column] = static_cast<T>(sum); });
  }
  return y;
}

std::vector<Tensor> matmul(const Call& call) {
  const Tensor& a = call.input(0);
  call.expect(call.input(1), a.type);
  const MatrixPair pair = matrices_of(call);
  switch (a.type) {
    case DataType::f32:
      return {matmul_f32(call, pair)};
    case DataType::f64:
      return {matmul_as<double>(call, pair)};
    case DataType::i32:
      return {matmul_as<int32_t>(call, pair)};
    case DataType::i64:
      return {matmul_as<int64_t>(call, pair)};
    case DataType::u32:
      return {matmul_as<uint32_t>(call, pair)};
    case DataType::u64:
      return {matmul_as<uint64_t>(call, pair)};
    default:
      call.refuse(fmt::format("{} is not handled here", name_of(a.type)));
  }
}

const bool registered[] = {add_operator("Gemm", widened<gemm>), add_operator("MatMul", widened<matmul>)};

}  // namespace

}  // namespace deepgap
