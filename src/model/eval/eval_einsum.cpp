// Einsum, as its definition reads: each element of the output is a sum over all values of the indices that it does not have. The cost is
// the product of the sizes of all indices, so chains of several matrices are better written as products of two.
#include "model/einsum.h"
#include "model/eval/element_types.h"
#include "model/eval/parallel.h"
#include "model/eval/widened.h"

namespace deepgap {

namespace {

// The sizes of all indices, and how far one step of each goes in each input.
struct Walk {
  EinsumEquation equation;
  Shape sizes;
  std::vector<std::vector<int64_t>> steps;  // elements that one step of each index goes in each input

  std::span<const int64_t> output() const { return std::span(sizes).first(equation.output); }
  std::span<const int64_t> summed() const { return std::span(sizes).subspan(equation.output); }
};

Walk walk_of(const Call& call) {
  std::vector<Shape> shapes;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.input(i).type != call.input(0).type) call.fail("inputs are of different types");
    shapes.push_back(call.input(i).shape);
  }
  auto [equation, sizes] = einsum_sizes(call.node, shapes);
  Walk walk{std::move(equation), std::move(sizes), {}};
  for (size_t i = 0; i < shapes.size(); ++i) {
    auto& steps = walk.steps.emplace_back(walk.equation.count, 0);
    const auto strides = row_major_strides(shapes[i]);
    for (size_t axis = 0; axis < shapes[i].size(); ++axis) {
      // An index may stand twice in one term: its step runs along the diagonal.
      if (shapes[i][axis] != 1) steps[walk.equation.inputs[i][axis]] += strides[axis];
    }
  }
  return walk;
}

// Positions of all inputs at the `at`-th value of the given indices, counted row by row.
void add_positions(std::span<const int64_t> sizes, size_t first_index, int64_t at, const Walk& walk, std::vector<int64_t>& positions) {
  for (size_t d = sizes.size(); d-- > 0; at /= sizes[d]) {
    for (size_t i = 0; i < positions.size(); ++i) positions[i] += at % sizes[d] * walk.steps[i][first_index + d];
  }
}

template <typename T>
T element(const Walk& walk, std::span<const T* const> data, int64_t place) {
  using Sum = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
  std::vector<int64_t> origin(data.size(), 0);
  add_positions(walk.output(), 0, place, walk, origin);
  const auto summed = walk.summed();
  const int64_t row = summed.empty() ? 1 : summed.back();
  const auto outer = summed.empty() ? summed : summed.first(summed.size() - 1);
  Sum sum = 0;
  for (int64_t r = 0; r < product_of(outer); ++r) {
    std::vector<int64_t> at = origin;
    add_positions(outer, walk.equation.output, r, walk, at);
    for (int64_t k = 0; k < row; ++k) {
      Sum term = 1;
      for (size_t i = 0; i < data.size(); ++i) {
        term *= static_cast<Sum>(data[i][at[i]]);
        if (!summed.empty()) at[i] += walk.steps[i].back();
      }
      sum += term;
    }
  }
  return static_cast<T>(sum);
}

std::vector<Tensor> einsum(const Call& call) {
  const Walk walk = walk_of(call);
  Tensor y = make_tensor(call.input(0).type, {walk.output().begin(), walk.output().end()});
  with_number(call, y.type, [&]<typename T>(T) {
    std::vector<const T*> data;
    for (const Tensor& input : call.inputs) data.push_back(input.as<T>().data());
    const auto to = writable<T>(y);
    parallel_for(product_of(y.shape), 4.0 * static_cast<double>(product_of(walk.summed())),
                 [&](int64_t place) { to[place] = element<T>(walk, data, place); });
  });
  return {y};
}

const bool registered = add_operator("Einsum", widened<einsum>);

}  // namespace

}  // namespace deepgap
