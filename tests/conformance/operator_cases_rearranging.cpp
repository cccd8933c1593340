#include "operator_cases.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace deepgap::conformance {
namespace {

Shape random_sample(Random& random, int64_t least_rank) {
  Shape shape(static_cast<size_t>(random.between(least_rank, 3)));
  for (int64_t& size : shape) size = random.between(1, 12);
  return shape;
}

Graph flatten(GraphBuilder& net) { return net.finish({net.node("Flatten", {net.input(random_sample(net.random(), 1))})}); }

// What flattens before a classifier, and what splits heads: the batch stays in front.
Graph reshape(GraphBuilder& net) {
  Random& random = net.random();
  const Shape sample = random_sample(random, 2);
  std::vector<int64_t> target{0, -1};
  if (random.chance(0.5)) target = {-1, element_count(sample)};
  if (random.chance(0.3)) target = {0, sample[0], -1, 1};
  return net.finish({net.node("Reshape", {net.input(sample), net.ints(target)})});
}

Graph transpose(GraphBuilder& net) {
  Random& random = net.random();
  const Shape sample = random_sample(random, 2);
  std::vector<int64_t> order(sample.size() + 1);
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size() - 1; i > 1; --i) std::swap(order[i], order[static_cast<size_t>(random.between(1, static_cast<int64_t>(i)))]);
  return net.finish({net.node("Transpose", {net.input(sample)}, {{"perm", order}})});
}

Graph concat(GraphBuilder& net) {
  Random& random = net.random();
  Shape sample = random_sample(random, 1);
  const int64_t axis = random.between(1, static_cast<int64_t>(sample.size()));
  std::vector<ValueId> inputs;
  for (int64_t i = random.between(2, 4); i > 0; --i) {
    sample[static_cast<size_t>(axis - 1)] = random.between(1, 9);
    inputs.push_back(net.input(sample));
  }
  return net.finish({net.node("Concat", inputs, {{"axis", random.chance(0.5) ? axis : axis - static_cast<int64_t>(sample.size()) - 1}})});
}

// With a constant: other modes are not evaluated.
Graph pad(GraphBuilder& net) {
  Random& random = net.random();
  const Shape sample{random.between(1, 6), random.between(3, 12), random.between(3, 12)};
  std::vector<int64_t> pads(8, 0);
  for (const size_t axis : {2u, 3u, 6u, 7u}) pads[axis] = random.between(0, 2);
  std::vector<ValueId> inputs{net.input(sample), net.ints(pads)};
  if (random.chance(0.5)) inputs.push_back(net.floats({}));
  return net.finish({net.node("Pad", inputs)});
}

Graph slice(GraphBuilder& net) {
  Random& random = net.random();
  const Shape sample{random.between(4, 12), random.between(4, 12)};
  const int64_t start = random.between(0, 1), end = random.between(3, 20), step = random.between(1, 2);
  return net.finish(
      {net.node("Slice", {net.input(sample), net.ints({start, -3}), net.ints({end, 1000}), net.ints({1, 2}), net.ints({step, 1})})});
}

Graph gather(GraphBuilder& net) {
  Random& random = net.random();
  const Shape sample{random.between(2, 9), random.between(2, 9)};
  std::vector<int64_t> rows;
  for (int64_t i = random.between(1, 5); i > 0; --i) rows.push_back(random.between(-sample[0], sample[0] - 1));
  return net.finish({net.node("Gather", {net.input(sample), net.ints(rows)}, {{"axis", int64_t{1}}})});
}

Graph unsqueeze(GraphBuilder& net) {
  const ValueId x = net.input(random_sample(net.random(), 1));
  return net.finish({net.node("Unsqueeze", {x, net.ints({1, -1})})});
}

Graph squeeze(GraphBuilder& net) {
  const ValueId x = net.input({net.random().between(1, 9), 1, net.random().between(1, 9)});
  return net.finish({net.node("Squeeze", {x, net.ints({2})})});
}

Graph cast(GraphBuilder& net) {
  constexpr int64_t to_f32 = 1;
  return net.finish({net.node("Cast", {net.input(random_sample(net.random(), 1), DataType::i32)}, {{"to", to_f32}})});
}

// An intermediate value that is an output as well, and an output that is an input: buffers must not be shared or reused.
Graph outputs_everywhere(GraphBuilder& net) {
  const ValueId x = net.input(random_sample(net.random(), 2));
  const ValueId doubled = net.node("Add", {x, x}), positive = net.node("Relu", {doubled});
  return net.finish({doubled, net.node("Identity", {x}), net.node("Flatten", {positive}), positive});
}

}  // namespace

std::vector<OperatorCase> rearranging_cases() {
  return {
      {"Flatten", 17, flatten},
      {"Reshape", 17, reshape},
      {"Transpose", 17, transpose, false},
      {"Concat", 17, concat, false},
      {"Pad", 17, pad, false},
      {"Slice", 17, slice, false},
      {"Gather", 17, gather, false},
      {"Unsqueeze", 17, unsqueeze, false},
      {"Squeeze", 17, squeeze, false},
      {"Cast", 17, cast, false},
      {"Identity and outputs inside", 17, outputs_everywhere, false},
  };
}

}  // namespace deepgap::conformance
