// Convolutions, products and normalisations where their sizes or windows end: axes of size 1, axes of size 0, vectors, numbers without
// dimensions.
#include "operator_cases.h"

#include <utility>

namespace deepgap::conformance {
namespace {

using Ints = std::vector<int64_t>;
using Build = Graph (*)(GraphBuilder&);

Shape with(int64_t lead, const Shape& rest) {
  Shape shape{lead};
  shape.insert(shape.end(), rest.begin(), rest.end());
  return shape;
}

// One pixel, one channel or one filter, each of them now and then; the window as small as the picture, or larger with padding.
struct OnePixel {
  size_t rank;
  Shape sizes, kernel;
  Ints pads;
  explicit OnePixel(Random& random) : rank(static_cast<size_t>(random.between(1, 3))), sizes(rank, 1) {
    if (random.chance(0.5)) sizes[static_cast<size_t>(random.between(0, static_cast<int64_t>(rank) - 1))] = random.between(2, 7);
    const int64_t side = random.one_of<int64_t>({1, 3});
    kernel.assign(rank, side);
    pads.assign(2 * rank, side / 2);
  }
  Attributes attributes() const { return {{"kernel_shape", Ints(kernel)}, {"pads", pads}}; }
};

Graph convolution(GraphBuilder& net) {
  Random& random = net.random();
  const OnePixel one(random);
  const int64_t in = random.one_of<int64_t>({1, 1, 5}), out = random.one_of<int64_t>({1, 1, 6});
  return net.finish({net.node("Conv", {net.input(with(in, one.sizes)), net.floats(with(out, with(in, one.kernel)))}, one.attributes())});
}

Graph depthwise(GraphBuilder& net) {
  Random& random = net.random();
  const OnePixel one(random);
  const int64_t channels = random.one_of<int64_t>({1, 2, 17});
  Attributes attributes = one.attributes();
  attributes["group"] = channels;
  return net.finish(
      {net.node("Conv", {net.input(with(channels, one.sizes)), net.floats(with(channels, with(1, one.kernel)))}, attributes)});
}

Graph transposed(GraphBuilder& net) {
  Random& random = net.random();
  const OnePixel one(random);
  const int64_t in = random.one_of<int64_t>({1, 1, 5}), out = random.one_of<int64_t>({1, 1, 6});
  return net.finish(
      {net.node("ConvTranspose", {net.input(with(in, one.sizes)), net.floats(with(in, with(out, one.kernel)))}, one.attributes())});
}

// No padding at the end and more outputs than the windows reach: those are the bias, or zero.
Graph beyond_the_windows(GraphBuilder& net) {
  Random& random = net.random();
  const size_t rank = static_cast<size_t>(random.between(1, 3));
  Shape sizes, kernel;
  Ints strides, more, pads(2 * rank, 0);
  for (size_t i = 0; i < rank; ++i) {
    sizes.push_back(random.between(2, 9));
    kernel.push_back(random.between(1, 4));
    strides.push_back(random.between(2, 3));
    more.push_back(random.between(i == 0 ? 1 : 0, strides[i] - 1));
    pads[i] = random.between(0, kernel[i] - 1);
  }
  const int64_t in = random.between(1, 6), out = random.between(1, 6);
  std::vector<ValueId> inputs{net.input(with(in, sizes)), net.floats(with(in, with(out, kernel)))};
  if (random.chance(0.5)) inputs.push_back(net.floats({out}));
  return net.finish({net.node("ConvTranspose", inputs, {{"strides", strides}, {"pads", pads}, {"output_padding", more}})});
}

Graph pools(GraphBuilder& net) {
  const OnePixel one(net.random());
  const ValueId x = net.input(with(net.random().one_of<int64_t>({1, 3}), one.sizes));
  return net.finish({net.node("MaxPool", {x}, one.attributes()), net.node("AveragePool", {x}, one.attributes()),
                     net.node("GlobalAveragePool", {x}), net.node("GlobalMaxPool", {x})});
}

Graph gemm(GraphBuilder& net) {
  Random& random = net.random();
  const int64_t depth = random.one_of<int64_t>({1, 1, 9}), columns = random.one_of<int64_t>({1, 1, 7});
  std::vector<ValueId> inputs{net.input({depth}), net.floats({depth, columns})};
  if (random.chance(0.7)) inputs.push_back(net.floats(random.one_of<Shape>({{}, {1}, {columns}, {1, 1}})));  // {}: a number
  return net.finish({net.node("Gemm", inputs, {{"alpha", 0.5f}, {"beta", 2.0f}})});
}

Graph products_of_one(GraphBuilder& net) {
  Random& random = net.random();
  const int64_t rows = random.one_of<int64_t>({1, 4}), depth = random.one_of<int64_t>({1, 6}), columns = random.one_of<int64_t>({1, 5});
  const ValueId a = net.input({1, rows, depth}), b = net.input({random.one_of<int64_t>({1, 3}), depth, columns});
  return net.finish({net.node("MatMul", {a, b}), net.node("MatMul", {a, net.floats({depth, columns})})});
}

// A vector on the right takes the last axis away, one on the left the last but one.
Graph products_of_vectors(GraphBuilder& net) {
  Random& random = net.random();
  const int64_t rows = random.between(1, 5), depth = random.between(1, 9);
  const ValueId x = net.input({rows, depth}), left = net.floats({rows}), right = net.floats({depth});
  const ValueId number = net.node("MatMul", {net.floats({4}), net.floats({4})});  // two vectors give a number without dimensions
  return net.finish({net.node("MatMul", {x, right}), net.node("MatMul", {left, x}), net.node("Mul", {x, number})});
}

// Sums of no terms are zero; a bias is all that is left of a Gemm.
Graph products_of_nothing(GraphBuilder& net) {
  const ValueId x = net.input({3, 0}), y = net.input({0});
  return net.finish({net.node("MatMul", {x, net.floats({0, 4})}), net.node("Gemm", {y, net.floats({0, 4}), net.floats({4})})});
}

Graph rows_of_nothing(GraphBuilder& net) {
  const ValueId x = net.input({0, 5}), weights = net.floats({5, 4});
  return net.finish({net.node("MatMul", {x, weights}), net.node("Softmax", {x}, {{"axis", int64_t{-1}}}),
                     net.node("LayerNormalization", {x, net.floats({5}), net.floats({5})})});
}

// Windows side by side over a picture of few channels, as transformers of pictures begin.
Graph patches(GraphBuilder& net) {
  const auto embedded = [&](const Shape& sample, int64_t out, const Ints& window) {
    const ValueId weights = net.floats({out, sample[0], window[0], window[1]});
    return net.node("Conv", {net.input(sample), weights, net.floats({out})}, {{"strides", window}});
  };
  return net.finish({embedded({3, 32, 48}, 24, {16, 16}), embedded({1, 12, 8}, 5, {3, 4}), embedded({4, 8, 6}, 16, {2, 2})});
}

// Rows of whole vectors, as transformers have them: more than a warp has lanes for, and fewer.
Graph norms_of_vectors(GraphBuilder& net) {
  const auto norm = [&](int64_t size) {
    return net.node("LayerNormalization", {net.input({5, size}), net.floats({size}, 0.5f, 1.5f), net.floats({size})}, {{"epsilon", 1e-4f}});
  };
  return net.finish({norm(48), norm(768)});
}

// What is alone has no variance: its bias is left. A small epsilon would make much of how the mean is rounded.
Graph norms_of_one(GraphBuilder& net) {
  const ValueId x = net.input({2, 1}), row = net.input({1});
  const Attributes wide{{"epsilon", 1.0f}};
  return net.finish({net.node("LayerNormalization", {x, net.floats({1}), net.floats({1}, 0.5f, 1.5f)}, wide),
                     net.node("InstanceNormalization", {x, net.floats({2}), net.floats({2}, 0.5f, 1.5f)}, wide),
                     net.node("BatchNormalization", {row, net.floats({1}), net.floats({1}), net.floats({1}), net.floats({1}, 0.5f, 1)}),
                     net.node("Softmax", {row}), net.node("LogSoftmax", {row})});
}

Graph attention_of_one(GraphBuilder& net) {
  Random& random = net.random();
  const int64_t heads = random.one_of<int64_t>({1, 3}), rows = random.one_of<int64_t>({1, 4}), width = random.one_of<int64_t>({1, 8});
  const ValueId q = net.input({heads, 1, width}), k = net.input({heads, width, rows}), v = net.input({heads, rows, width});
  const ValueId scores = net.node("Mul", {net.node("MatMul", {q, k}), net.floats({}, 0.2f, 0.5f)});
  return net.finish({net.node("MatMul", {net.node("Softmax", {scores}), v})});
}

Graph recurrent_of_one(GraphBuilder& net) {
  const int64_t size = net.random().one_of<int64_t>({1, 4});
  const ValueId x = net.node("Transpose", {net.input({1, size})}, {{"perm", Ints{1, 0, 2}}});
  std::vector<ValueId> outputs;
  for (const auto& [op, gates] : {std::pair{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}}) {
    const ValueId steps = net.node(op, {x, net.floats({1, gates, size}), net.floats({1, gates, 1})}, {{"hidden_size", int64_t{1}}});
    outputs.push_back(net.node("Transpose", {steps}, {{"perm", Ints{2, 0, 1, 3}}}));
  }
  return net.finish(outputs);
}

Graph einsum_of_one(GraphBuilder& net) {
  const ValueId x = net.input({1, net.random().one_of<int64_t>({1, 5})});
  return net.finish({net.node("Einsum", {x, x}, {{"equation", std::string("bij,bij->b")}}),
                     net.node("Einsum", {x}, {{"equation", std::string("bij->bji")}})});
}

OperatorCase edge(const std::string& name, Build build) { return {name, 17, build, false}; }

}  // namespace

std::vector<OperatorCase> edge_cases() {
  return {edge("Conv of one", convolution),
          edge("Conv depthwise of one", depthwise),
          edge("ConvTranspose of one", transposed),
          edge("ConvTranspose beyond its windows", beyond_the_windows),
          edge("Pools of one", pools),
          edge("Gemm of one", gemm),
          edge("MatMul of one", products_of_one),
          edge("MatMul of vectors", products_of_vectors),
          edge("MatMul and Gemm of nothing", products_of_nothing),
          edge("MatMul Softmax and LayerNormalization of no rows", rows_of_nothing),
          edge("Conv of patches", patches),
          edge("LayerNormalization of vectors", norms_of_vectors),
          edge("Normalizations of one", norms_of_one),
          edge("Attention of one", attention_of_one),
          edge("LSTM GRU and RNN of one", recurrent_of_one),
          edge("Einsum of one", einsum_of_one)};
}

}  // namespace deepgap::conformance
