// Each operator's shape against the ONNX specification, worked out by hand.
#include "model/shape_rules.h"
#include "model/graph_tools.h"
#include "model/usual_operators.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace deepgap {
namespace {

using testing::HasSubstr;
using testing::IsSupersetOf;
using Ints = std::vector<int64_t>;

Dim n(int64_t times = 1) { return {times, "N"}; }
Dims dims(std::initializer_list<int64_t> sizes) {
  Dims result;
  for (const int64_t size : sizes) result.push_back(size == -1 ? n() : fixed_dim(size));
  return result;
}

// A graph of one node after another; -1 in a shape stands for N.
class Net {
 public:
  explicit Net(int opset = 17) { graph_.opset = opset; }
  ValueId input(std::optional<Dims> shape, DataType type = DataType::f32) {
    const ValueId id = value(type, std::move(shape));
    graph_.inputs.push_back(id);
    return id;
  }
  ValueId weights(const Shape& shape) {
    Dims sizes;
    for (const int64_t size : shape) sizes.push_back(fixed_dim(size));
    const ValueId id = value(DataType::f32, sizes);
    graph_.constants[id] = Tensor{DataType::f32, shape, nullptr};
    return id;
  }
  ValueId ints(const Ints& content, bool scalar = false) {
    const Shape shape = scalar ? Shape{} : Shape{static_cast<int64_t>(content.size())};
    Tensor tensor = make_tensor(DataType::i64, shape);
    std::copy(content.begin(), content.end(), writable<int64_t>(tensor).begin());
    return constant(std::move(tensor));
  }
  ValueId floats(const std::vector<float>& content) {
    Tensor tensor = make_tensor(DataType::f32, {static_cast<int64_t>(content.size())});
    std::copy(content.begin(), content.end(), writable<float>(tensor).begin());
    return constant(std::move(tensor));
  }
  std::vector<ValueId> node(const std::string& op, std::vector<ValueId> inputs, std::map<std::string, Attribute> attributes = {},
                            size_t outputs = 1) {
    std::vector<ValueId> made;
    for (size_t i = 0; i < outputs; ++i) made.push_back(value(DataType::f32, std::nullopt));
    graph_.nodes.push_back({op + std::to_string(graph_.nodes.size()), op, "", std::move(inputs), made, std::move(attributes)});
    return made;
  }
  const Value& infer(ValueId id) {
    infer_shapes(graph_);
    return graph_.values[id];
  }
  // The dims of the first output of a node added last.
  std::optional<Dims> shape(const std::string& op, std::vector<ValueId> inputs, std::map<std::string, Attribute> attributes = {}) {
    return infer(node(op, std::move(inputs), std::move(attributes))[0]).dims;
  }
  std::string error(const std::string& op, std::vector<ValueId> inputs, std::map<std::string, Attribute> attributes = {}) {
    try {
      shape(op, std::move(inputs), std::move(attributes));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

 private:
  ValueId value(DataType type, std::optional<Dims> shape) {
    graph_.values.push_back({"v" + std::to_string(graph_.values.size()), type, std::move(shape)});
    return static_cast<ValueId>(graph_.values.size() - 1);
  }
  ValueId constant(Tensor tensor) {
    Dims sizes;
    for (const int64_t size : tensor.shape) sizes.push_back(fixed_dim(size));
    const ValueId id = value(tensor.type, sizes);
    graph_.constants[id] = std::move(tensor);
    return id;
  }
  Graph graph_;
};

TEST(ShapeRules, KnowsWhatVisionExportsNeed) {
  EXPECT_THAT(shape_inferred_operators(), IsSupersetOf(usual_operators()));
  EXPECT_THAT(shape_inferred_operators(),
              IsSupersetOf({"ConvTranspose", "Resize", "Upsample", "LRN", "Gelu", "InstanceNormalization", "LayerNormalization"}));
}

TEST(ShapeRules, Convolution) {
  Net net;
  const ValueId x = net.input(dims({-1, 3, 224, 224}));
  EXPECT_EQ(net.shape("Conv", {x, net.weights({64, 3, 7, 7})}, {{"pads", Ints{3, 3, 3, 3}}, {"strides", Ints{2, 2}}}),
            dims({-1, 64, 112, 112}));
  EXPECT_EQ(net.shape("Conv", {x, net.weights({8, 3, 3, 3})}, {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 2}}}),
            dims({-1, 8, 112, 112}));
  EXPECT_EQ(net.shape("Conv", {x, net.weights({8, 3, 3, 3})}, {{"auto_pad", std::string("VALID")}}), dims({-1, 8, 222, 222}));
  EXPECT_EQ(net.shape("Conv", {x, net.weights({8, 3, 3, 1})}, {{"dilations", Ints{5, 1}}}), dims({-1, 8, 214, 224}));
  EXPECT_EQ(net.shape("Conv", {x, net.weights({6, 1, 3, 3})}, {{"group", int64_t{3}}}), dims({-1, 6, 222, 222}));
  EXPECT_THAT(net.error("Conv", {x, net.weights({6, 2, 3, 3})}, {{"group", int64_t{3}}}), HasSubstr("3 input channels"));
}

TEST(ShapeRules, ConvolutionChecksItsWeights) {
  Net net;
  const ValueId x = net.input(dims({-1, 3, 8, 8}));
  EXPECT_THAT(net.error("Conv", {x, net.weights({4, 3, 9, 9})}), HasSubstr("larger than its padded input"));
}

TEST(ShapeRules, OpenPictureSizes) {
  Net net;
  const ValueId x = net.input(Dims{n(), fixed_dim(3), {1, "H"}, {32, "W"}});
  EXPECT_EQ(net.shape("Conv", {x, net.weights({8, 3, 3, 3})}, {{"pads", Ints{1, 1, 1, 1}}}),
            (Dims{n(), fixed_dim(8), {1, "H"}, {32, "W"}}));
  const auto halved = net.shape("Conv", {x, net.weights({8, 3, 3, 3})}, {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 2}}});
  EXPECT_EQ((*halved)[3], (Dim{16, "W"}));
  EXPECT_FALSE((*halved)[2].known());
  EXPECT_NE((*halved)[2].symbol, "H");
}

TEST(ShapeRules, TransposedConvolution) {
  Net net;
  const ValueId x = net.input(dims({-1, 16, 12, 10}));
  const ValueId w = net.weights({16, 4, 3, 3});
  // stride (in-1) + output_padding + kernel - pads
  EXPECT_EQ(net.shape("ConvTranspose", {x, w}, {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}, {"output_padding", Ints{1, 1}}}),
            dims({-1, 4, 24, 20}));
  EXPECT_EQ(net.shape("ConvTranspose", {x, w}, {{"strides", Ints{3, 2}}}), dims({-1, 4, 36, 21}));
  EXPECT_EQ(net.shape("ConvTranspose", {x, w}, {{"group", int64_t{2}}}), dims({-1, 8, 14, 12}));
  EXPECT_EQ(net.shape("ConvTranspose", {x, w}, {{"output_shape", Ints{25, 21}}, {"strides", Ints{2, 2}}}), dims({-1, 4, 25, 21}));
}

TEST(ShapeRules, Pooling) {
  Net net;
  const ValueId x = net.input(dims({-1, 64, 112, 112}));
  EXPECT_EQ(net.shape("MaxPool", {x}, {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}),
            dims({-1, 64, 56, 56}));
  EXPECT_EQ(net.shape("AveragePool", {x}, {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}}), dims({-1, 64, 55, 55}));
  EXPECT_EQ(net.shape("AveragePool", {x}, {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"ceil_mode", int64_t{1}}}),
            dims({-1, 64, 56, 56}));
  // ceil((5 + 2 - 2) / 3) + 1 = 3 windows, but the third would begin at 6, in the padding behind the 5 pixels and 1 before.
  const ValueId small = net.input(dims({1, 1, 5, 5}));
  EXPECT_EQ(net.shape("MaxPool", {small},
                      {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}, {"ceil_mode", int64_t{1}}}),
            dims({1, 1, 2, 2}));
  EXPECT_EQ(net.shape("GlobalAveragePool", {x}), dims({-1, 64, 1, 1}));
}

TEST(ShapeRules, Broadcasting) {
  Net net;
  const ValueId x = net.input(dims({-1, 64, 7, 7}));
  EXPECT_EQ(net.shape("Add", {x, net.weights({64, 1, 1})}), dims({-1, 64, 7, 7}));
  EXPECT_EQ(net.shape("Mul", {net.weights({5, 1}), net.weights({1, 4})}), dims({5, 4}));
  EXPECT_EQ(net.shape("Where", {net.input(dims({3, 1}), DataType::boolean), net.weights({1, 4}), net.weights({})}), dims({3, 4}));
  EXPECT_EQ(net.shape("Max", {net.weights({2, 1}), net.weights({3}), net.weights({1, 1})}), dims({2, 3}));
  EXPECT_THAT(net.error("Add", {net.weights({3}), net.weights({4})}), HasSubstr("[3] and [4]"));
}

TEST(ShapeRules, MatrixProducts) {
  Net net;
  EXPECT_EQ(net.shape("Gemm", {net.input(dims({-1, 512})), net.weights({1000, 512}), net.weights({1000})}, {{"transB", int64_t{1}}}),
            dims({-1, 1000}));
  EXPECT_EQ(net.shape("Gemm", {net.weights({5, 3}), net.weights({5, 4})}, {{"transA", int64_t{1}}}), dims({3, 4}));
  EXPECT_EQ(net.shape("MatMul", {net.input(dims({-1, 12, 49, 64})), net.weights({12, 64, 49})}), dims({-1, 12, 49, 49}));
  EXPECT_EQ(net.shape("MatMul", {net.weights({4}), net.weights({7, 4, 3})}), dims({7, 3}));
  EXPECT_EQ(net.shape("MatMul", {net.weights({2, 4}), net.weights({4})}), dims({2}));
  EXPECT_EQ(net.shape("MatMul", {net.weights({4}), net.weights({4})}), Dims{});
  EXPECT_THAT(net.error("MatMul", {net.weights({2, 3}), net.weights({4, 5})}), HasSubstr("do not go together"));
}

TEST(ShapeRules, Reshape) {
  Net net;
  const ValueId x = net.input(dims({-1, 512, 7, 7}));
  EXPECT_EQ(net.shape("Reshape", {x, net.ints({0, -1})}), dims({-1, 25088}));
  EXPECT_EQ(net.shape("Reshape", {x, net.ints({-1, 512})}), (Dims{n(49), fixed_dim(512)}));
  EXPECT_EQ(net.shape("Reshape", {x, net.ints({0, 8, 64, -1})}), dims({-1, 8, 64, 49}));
  EXPECT_EQ(net.shape("Reshape", {net.weights({0, 3}), net.ints({3, 0})}, {{"allowzero", int64_t{1}}}), dims({3, 0}));
  EXPECT_EQ(net.shape("Flatten", {x}), dims({-1, 25088}));
  EXPECT_EQ(net.shape("Flatten", {x}, {{"axis", int64_t{-1}}}), (Dims{n(3584), fixed_dim(7)}));
  EXPECT_EQ(net.shape("Flatten", {net.weights({2, 3})}, {{"axis", int64_t{0}}}), dims({1, 6}));
  EXPECT_THAT(net.error("Reshape", {net.weights({2, 3}), net.ints({4, -1})}), HasSubstr("cannot become"));
}

TEST(ShapeRules, TheLengthOfAShapeIsTheRank) {
  Net net;
  const auto rank = [](const std::optional<Dims>& dims) { return dims ? static_cast<int>(dims->size()) : -1; };
  const ValueId three = net.input(dims({3}), DataType::i64);
  EXPECT_EQ(rank(net.shape("Expand", {net.weights({1, 6}), three})), 3);
  EXPECT_EQ(rank(net.shape("Expand", {net.weights({1, 2, 1, 6}), three})), 4);
  EXPECT_EQ(rank(net.shape("ConstantOfShape", {three})), 3);
}

TEST(ShapeRules, ReshapeContradictions) {
  for (const Ints& target : {Ints{7}, Ints{-1, -1}, Ints{-2, 3}, Ints{2, 3, 0}}) {
    Net net;
    EXPECT_NE(net.error("Reshape", {net.weights({2, 3}), net.ints(target)}), "");
  }
}

// Exporters flatten a batch so: Shape -> Gather -> Unsqueeze -> Concat -> Reshape.
TEST(ShapeRules, SizesCarryThroughIntegerArithmetic) {
  Net net;
  const ValueId x = net.input(dims({-1, 512, 7, 7}));
  const ValueId shape = net.node("Shape", {x})[0];
  const ValueId count = net.node("Gather", {shape, net.ints({0}, true)})[0];
  const ValueId list = net.node("Unsqueeze", {count, net.ints({0})})[0];
  const ValueId target = net.node("Concat", {list, net.ints({-1})}, {{"axis", int64_t{0}}})[0];
  EXPECT_EQ(net.shape("Reshape", {x, target}), dims({-1, 25088}));
  const ValueId sides = net.node("Slice", {shape, net.ints({2}), net.ints({INT64_MAX}), net.ints({0})})[0];
  const ValueId doubled = net.node("Mul", {sides, net.ints({2})})[0];
  const ValueId head = net.node("Slice", {shape, net.ints({0}), net.ints({2})})[0];
  const ValueId sizes = net.node("Concat", {head, doubled}, {{"axis", int64_t{0}}})[0];
  EXPECT_EQ(net.shape("Resize", {x, no_value, no_value, sizes}), dims({-1, 512, 14, 14}));
  // torch.expand: ConstantOfShape -> Mul -> Equal -> Where -> Expand.
  const ValueId ones = net.node("ConstantOfShape", {net.node("Shape", {shape})[0]}, {{"value", [] {
                                                                                        Tensor one = make_tensor(DataType::i64, {1});
                                                                                        writable<int64_t>(one)[0] = 1;
                                                                                        return Attribute(one);
                                                                                      }()}})[0];
  const ValueId minus = net.node("Mul", {ones, net.ints({-1})})[0];
  const ValueId wanted = net.ints({-1, 512, 7, 7});
  const ValueId chosen = net.node("Where", {net.node("Equal", {wanted, minus})[0], ones, wanted})[0];
  EXPECT_EQ(net.shape("Expand", {net.weights({1, 512, 1, 1}), chosen}), dims({1, 512, 7, 7}));
}

TEST(ShapeRules, SlicesAsPythonDoes) {
  const auto sliced = [](int64_t start, int64_t end, int64_t step) {
    Net net;
    return (*net.shape("Slice", {net.weights({10}), net.ints({start}), net.ints({end}), net.ints({0}), net.ints({step})}))[0].size;
  };
  EXPECT_EQ(sliced(2, 7, 1), 5);
  EXPECT_EQ(sliced(2, 7, 2), 3);
  EXPECT_EQ(sliced(-3, INT64_MAX, 1), 3);
  EXPECT_EQ(sliced(0, -1, 1), 9);
  EXPECT_EQ(sliced(-1, INT64_MIN, -1), 10);
  EXPECT_EQ(sliced(-1, -11, -3), 4);
  EXPECT_EQ(sliced(8, 2, -2), 3);
  EXPECT_EQ(sliced(7, 2, 1), 0);
  EXPECT_EQ(sliced(100, 200, 1), 0);
  EXPECT_EQ(sliced(INT64_MIN, INT64_MAX, INT64_MAX), 1);
  EXPECT_EQ(sliced(INT64_MAX, INT64_MIN, INT64_MIN), 1);
  Net net(9);
  EXPECT_EQ(net.shape("Slice", {net.input(dims({-1, 10}))}, {{"starts", Ints{0, 2}}, {"ends", Ints{INT64_MAX, 5}}}), dims({-1, 3}));
}

TEST(ShapeRules, MovesAndJoins) {
  Net net;
  const ValueId x = net.input(dims({-1, 6, 4, 2}));
  EXPECT_EQ(net.shape("Transpose", {x}, {{"perm", Ints{0, 2, 3, 1}}}), dims({-1, 4, 2, 6}));
  EXPECT_EQ(net.shape("Transpose", {x}), (Dims{fixed_dim(2), fixed_dim(4), fixed_dim(6), n()}));
  EXPECT_EQ(net.shape("Concat", {x, x, net.input(dims({-1, 3, 4, 2}))}, {{"axis", int64_t{1}}}), dims({-1, 15, 4, 2}));
  EXPECT_EQ(net.shape("Concat", {x, x}, {{"axis", int64_t{0}}}), (Dims{n(2), fixed_dim(6), fixed_dim(4), fixed_dim(2)}));
  EXPECT_EQ(net.shape("Gather", {x, net.weights({5, 3})}, {{"axis", int64_t{2}}}), dims({-1, 6, 5, 3, 2}));
  EXPECT_EQ(net.shape("Squeeze", {net.input(dims({-1, 1, 3, 1})), net.ints({1, -1})}), dims({-1, 3}));
  EXPECT_EQ(net.shape("Unsqueeze", {x, net.ints({0, -1})}), dims({1, -1, 6, 4, 2, 1}));
  EXPECT_EQ(net.shape("Pad", {x, net.ints({0, 0, 1, 2, 0, 0, 3, 4})}), dims({-1, 6, 8, 8}));
  EXPECT_EQ(net.shape("Tile", {x, net.ints({2, 1, 3, 1})}), (Dims{n(2), fixed_dim(6), fixed_dim(12), fixed_dim(2)}));
  EXPECT_EQ(net.shape("DepthToSpace", {net.input(dims({-1, 12, 4, 4}))}, {{"blocksize", int64_t{2}}}), dims({-1, 3, 8, 8}));
  EXPECT_EQ(net.shape("Expand", {net.weights({3, 1}), net.ints({2, 1, 6})}), dims({2, 3, 6}));
  EXPECT_EQ(net.shape("Range", {net.ints({10}, true), net.ints({0}, true), net.ints({-3}, true)}), dims({4}));
  EXPECT_THAT(net.error("Transpose", {x}, {{"perm", Ints{0, 1, 1, 2}}}), HasSubstr("not an order"));
}

TEST(ShapeRules, Splits) {
  Net net(18);
  const ValueId x = net.input(dims({-1, 7}));
  const auto parts = net.node("Split", {x}, {{"axis", int64_t{1}}, {"num_outputs", int64_t{3}}}, 3);
  const auto given = net.node("Split", {x, net.ints({2, 5})}, {{"axis", int64_t{1}}}, 2);
  EXPECT_EQ(net.infer(parts[0]).dims, dims({-1, 3}));
  EXPECT_EQ(net.infer(parts[2]).dims, dims({-1, 1}));
  EXPECT_EQ(net.infer(given[1]).dims, dims({-1, 5}));
  EXPECT_THAT(net.error("Split", {x, net.ints({3, 3})}, {{"axis", int64_t{1}}}), HasSubstr("does not split"));
}

TEST(ShapeRules, Reductions) {
  Net net(17);
  const ValueId x = net.input(dims({-1, 6, 4, 2}));
  EXPECT_EQ(net.shape("ReduceMean", {x}, {{"axes", Ints{-1, 2}}}), dims({-1, 6, 1, 1}));
  EXPECT_EQ(net.shape("ReduceMean", {x}, {{"axes", Ints{2, 3}}, {"keepdims", int64_t{0}}}), dims({-1, 6}));
  EXPECT_EQ(net.shape("ReduceSum", {x, net.ints({1})}, {{"keepdims", int64_t{0}}}), dims({-1, 4, 2}));
  EXPECT_EQ(net.shape("ReduceMax", {x}, {{"keepdims", int64_t{0}}}), Dims{});
  EXPECT_EQ(net.shape("ReduceSum", {x}, {{"noop_with_empty_axes", int64_t{1}}}), dims({-1, 6, 4, 2}));
  EXPECT_EQ(net.shape("ArgMax", {x}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}}), dims({-1, 4, 2}));
}

TEST(ShapeRules, Choices) {
  Net net(17);
  const ValueId x = net.input(dims({-1, 6, 4}));
  EXPECT_EQ(net.shape("TopK", {x, net.ints({3})}, {{"axis", int64_t{1}}}), dims({-1, 3, 4}));
  EXPECT_THAT(net.error("TopK", {x, net.ints({5})}), HasSubstr("k is 5 of an axis of [4]"));
}

TEST(ShapeRules, Einsum) {
  Net net(17);
  const auto equation = [](const char* text) { return std::map<std::string, Attribute>{{"equation", std::string(text)}}; };
  const ValueId x = net.input(dims({-1, 6, 4})), y = net.input(dims({-1, 1, 4}));
  EXPECT_EQ(net.shape("Einsum", {x, y}, equation("bid,bjd->bij")), dims({-1, 6, 1}));
  EXPECT_EQ(net.shape("Einsum", {x, y}, equation("...d,...d->...")), dims({-1, 6}));
  EXPECT_EQ(net.shape("Einsum", {x, y}, equation("...ij,...kj")), dims({-1, 6, 1}));
  EXPECT_EQ(net.shape("Einsum", {x}, equation("bij->")), Dims{});
  EXPECT_EQ(net.shape("Einsum", {net.input(std::nullopt)}, equation("ij->ji")), std::nullopt);
  Net wrong(17);
  const ValueId a = wrong.input(dims({2, 3}));
  EXPECT_THAT(wrong.error("Einsum", {a, a}, equation("ij,jk->ik")), HasSubstr("do not go together"));
}

// The results of arithmetic on sizes are no longer these sizes.
TEST(ShapeRules, ContentsDoNotPassWhatChangesThem) {
  Net net(17);
  const ValueId size = net.node("Shape", {net.input(dims({3, 4}))})[0];
  EXPECT_EQ(net.shape("Expand", {net.input(dims({1, 1})), size}), dims({3, 4}));
  const ValueId sums = net.node("CumSum", {size, net.ints({0}, true)})[0];  // 3 and 7
  EXPECT_NE(net.shape("Expand", {net.input(dims({1, 1})), sums}), dims({3, 4}));
  const ValueId negative = net.node("Neg", {size})[0], back = net.node("Neg", {negative})[0];
  EXPECT_EQ(net.shape("Expand", {net.input(dims({1, 1})), back}), dims({3, 4}));
}

TEST(ShapeRules, ResizeByScales) {
  Net net(13);
  const ValueId x = net.input(Dims{n(), fixed_dim(8), fixed_dim(5), {1, "W"}});
  EXPECT_EQ(net.shape("Resize", {x, no_value, net.floats({1, 1, 2.5f, 2})}), (Dims{n(), fixed_dim(8), fixed_dim(12), {2, "W"}}));
  Net old(9);
  EXPECT_EQ(old.shape("Upsample", {old.input(dims({-1, 8, 5, 5})), old.floats({1, 1, 2, 2})}), dims({-1, 8, 10, 10}));
}

TEST(ShapeRules, TypesFollow) {
  Net net;
  const ValueId x = net.input(dims({-1, 4}));
  EXPECT_EQ(net.infer(net.node("Cast", {x}, {{"to", int64_t{10}}})[0]).type, DataType::f16);
  EXPECT_EQ(net.infer(net.node("Less", {x, x})[0]).type, DataType::boolean);
  EXPECT_EQ(net.infer(net.node("Shape", {x})[0]).type, DataType::i64);
  const ValueId zero_point = net.input(Dims{}, DataType::i8);
  const ValueId quantized = net.node("QuantizeLinear", {x, net.weights({}), zero_point})[0];
  EXPECT_EQ(net.infer(quantized).type, DataType::i8);
  EXPECT_EQ(net.infer(net.node("DequantizeLinear", {quantized, net.weights({}), zero_point})[0]).type, DataType::f32);
  EXPECT_THAT(net.error("Add", {x, net.ints({1})}), HasSubstr("differ in type"));
}

TEST(ShapeRules, UnknownOperatorsLeaveUnknownShapes) {
  Net net;
  const ValueId x = net.input(dims({-1, 4}));
  EXPECT_EQ(net.shape("Mystery", {x}), std::nullopt);
  const ValueId mystery = net.node("Mystery", {x})[0];
  EXPECT_EQ(net.shape("Relu", {mystery}), std::nullopt);
}

TEST(ShapeRules, SizesBeyondReasonFail) {
  Net net;
  const ValueId x = net.input(dims({int64_t{1} << 35, 1}));
  EXPECT_THAT(net.error("Add", {x, net.input(dims({1, int64_t{1} << 35}))}), HasSubstr("2^46"));
}

}  // namespace
}  // namespace deepgap
