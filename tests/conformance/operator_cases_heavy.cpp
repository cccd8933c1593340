// Windows in one and three dimensions and with rarer attributes, normalisations, recurrent layers, products of other types, and what
// detectors choose boxes with.
#include "operator_cases.h"

#include <algorithm>
#include <utility>

namespace deepgap::conformance {
namespace {

using Ints = std::vector<int64_t>;

// ONNX's numbers for element types.
constexpr int64_t onnx_f32 = 1, onnx_i32 = 6, onnx_i64 = 7, onnx_f16 = 10, onnx_f64 = 11;

ValueId cast(GraphBuilder& net, ValueId x, int64_t type) { return net.node("Cast", {x}, {{"to", type}}); }

// One to three dimensions of a picture, and a window that fits into it.
struct Geometry {
  Ints sizes, kernel, strides, dilations, pads;

  Geometry(Random& random, int64_t rank, int64_t least_size = 4) {
    const int64_t largest = rank == 3 ? 9 : 20;
    pads.resize(static_cast<size_t>(2 * rank));
    for (size_t i = 0; i < static_cast<size_t>(rank); ++i) {
      sizes.push_back(random.between(least_size, largest));
      kernel.push_back(random.between(1, std::min<int64_t>(4, sizes[i])));
      strides.push_back(random.between(1, 3));
      dilations.push_back((kernel[i] - 1) * 2 + 1 <= sizes[i] ? random.between(1, 2) : 1);
      pads[i] = random.between(0, kernel[i] - 1);
      pads[i + static_cast<size_t>(rank)] = random.between(0, kernel[i] - 1);
    }
  }
  Attributes attributes() const { return {{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}, {"dilations", dilations}}; }
  Shape with(std::initializer_list<int64_t> lead, const Ints& rest) const {
    Shape shape(lead);
    shape.insert(shape.end(), rest.begin(), rest.end());
    return shape;
  }
};

void pad_automatically(Random& random, Attributes& attributes, size_t rank) {
  attributes.erase("pads");
  attributes["dilations"] = Ints(rank, 1);
  attributes["auto_pad"] = random.one_of<std::string>({"SAME_UPPER", "SAME_LOWER", "VALID"});
}

Graph convolution(GraphBuilder& net, int64_t rank) {
  Random& random = net.random();
  const Geometry g(random, rank);
  const int64_t groups = random.one_of<int64_t>({1, 1, 2, 3}), in = groups * random.between(1, 7), out = groups * random.between(1, 9);
  Attributes attributes = g.attributes();
  attributes["group"] = groups;
  if (random.chance(0.3)) pad_automatically(random, attributes, g.kernel.size());
  std::vector<ValueId> inputs{net.input(g.with({in}, g.sizes)), net.floats(g.with({out, in / groups}, g.kernel))};
  if (random.chance(0.5)) inputs.push_back(net.floats({out}));
  return net.finish({net.node("Conv", inputs, attributes)});
}

Graph transposed(GraphBuilder& net, int64_t rank) {
  Random& random = net.random();
  const Geometry g(random, rank);
  const int64_t groups = random.one_of<int64_t>({1, 1, 2}), in = groups * random.between(1, 6), out = random.between(1, 6);
  Attributes attributes = g.attributes();
  attributes["group"] = groups;
  Ints more;  // must be smaller than the stride
  for (const int64_t stride : g.strides) more.push_back(random.between(0, stride - 1));
  if (random.chance(0.5)) attributes["output_padding"] = more;
  if (random.chance(0.4)) {  // up to the whole reach: pads follow from it
    Ints shape;
    for (size_t i = 0; i < g.sizes.size(); ++i) {
      const int64_t reach = (g.sizes[i] - 1) * g.strides[i] + (g.kernel[i] - 1) * g.dilations[i] + 1;
      shape.push_back(std::max<int64_t>(1, reach - random.between(0, 2)));
    }
    attributes["output_shape"] = shape;
    attributes.erase("pads");
    attributes.erase("output_padding");
    if (random.chance(0.5)) attributes["auto_pad"] = random.one_of<std::string>({"SAME_UPPER", "SAME_LOWER"});
  }
  std::vector<ValueId> inputs{net.input(g.with({in}, g.sizes)), net.floats(g.with({in, out}, g.kernel))};
  if (random.chance(0.5)) inputs.push_back(net.floats({out * groups}));
  return net.finish({net.node("ConvTranspose", inputs, attributes)});
}

Graph pool(GraphBuilder& net, const std::string& op, int64_t rank) {
  Random& random = net.random();
  const Geometry g(random, rank);
  Attributes attributes = g.attributes();
  if (op == "AveragePool") {
    if (net.opset() < 19) attributes.erase("dilations");
    attributes["count_include_pad"] = int64_t{random.chance(0.5)};
  }
  if (op == "LpPool") {
    if (net.opset() < 18) attributes.erase("dilations");
    attributes["p"] = random.between(1, 3);
  }
  if (op == "MaxPool") attributes["ceil_mode"] = int64_t{random.chance(0.4)};
  if (op != "LpPool" && random.chance(0.2)) pad_automatically(random, attributes, g.kernel.size());
  if (!attributes.contains("pads") && net.opset() < 19 && op == "AveragePool") attributes.erase("dilations");
  return net.finish({net.node(op, {net.input(g.with({random.between(1, 20)}, g.sizes))}, attributes)});
}

Graph global_pool(GraphBuilder& net, const std::string& op) {
  Random& random = net.random();
  const Geometry g(random, random.between(1, 3), 1);
  Attributes attributes;
  if (op == "GlobalLpPool") attributes["p"] = random.between(1, 3);
  return net.finish({net.node(op, {net.input(g.with({random.between(1, 30)}, g.sizes))}, attributes)});
}

Graph instance_norm(GraphBuilder& net) {
  Random& random = net.random();
  const Geometry g(random, random.between(1, 3), 4);  // two numbers may be as good as equal in 16 bits
  const int64_t channels = random.between(1, 20);
  return net.finish({net.node("InstanceNormalization",
                              {net.input(g.with({channels}, g.sizes)), net.floats({channels}, 0.5f, 1.5f), net.floats({channels})},
                              {{"epsilon", random.one_of<float>({1e-5f, 1e-2f})}})});
}

Graph group_norm(GraphBuilder& net) {
  Random& random = net.random();
  const Geometry g(random, random.between(1, 3), 2);
  const int64_t groups = random.between(1, 4), channels = groups * random.between(1, 6), parameters = net.opset() >= 21 ? channels : groups;
  return net.finish({net.node("GroupNormalization",
                              {net.input(g.with({channels}, g.sizes)), net.floats({parameters}, 0.5f, 1.5f), net.floats({parameters})},
                              {{"num_groups", groups}})});
}

// Over one axis or several, with a bias or without.
Graph layer_norm(GraphBuilder& net) {
  Random& random = net.random();
  const Shape sample{random.between(1, 9), random.between(1, 9), random.between(2, 40)};
  const int64_t axis = random.one_of<int64_t>({1, 2, 3, -1, -2});
  const Shape row(sample.end() - (axis < 0 ? -axis : 4 - axis), sample.end());
  std::vector<ValueId> inputs{net.input(sample), net.floats(row, 0.5f, 1.5f)};
  if (random.chance(0.7)) inputs.push_back(net.floats(row));
  return net.finish({net.node("LayerNormalization", inputs, {{"axis", axis}, {"epsilon", random.one_of<float>({1e-5f, 1e-2f})}})});
}

// As exporters wrote it before opset 17.
Graph layer_norm_written_out(GraphBuilder& net) {
  Random& random = net.random();
  const int64_t last = random.between(2, 50);
  const Attributes axes{{"axes", Ints{-1}}};
  const ValueId x = net.input({random.between(1, 9), last});
  const ValueId centered = net.node("Sub", {x, net.node("ReduceMean", {x}, axes)});
  const ValueId variance = net.node("ReduceMean", {net.node("Pow", {centered, net.floats({}, 2, 2)})}, axes);
  const ValueId root = net.node("Sqrt", {net.node("Add", {variance, net.floats({}, 1e-3f, 1e-3f)})});
  const ValueId scaled = net.node("Mul", {net.node("Div", {centered, root}), net.floats({last}, 0.5f, 1.5f)});
  return net.finish({net.node("Add", {scaled, net.floats({last})})});
}

Graph lrn(GraphBuilder& net) {
  Random& random = net.random();
  const Geometry g(random, 2, 1);
  return net.finish({net.node("LRN", {net.input(g.with({random.between(1, 20)}, g.sizes))},
                              {{"size", random.one_of<int64_t>({1, 3, 5})},
                               {"alpha", random.value(0.01f, 1)},
                               {"beta", random.value(0.3f, 1)},
                               {"bias", random.value(0.5f, 2)}})});
}

Graph lp_norm(GraphBuilder& net) {
  Random& random = net.random();
  return net.finish({net.node("LpNormalization", {net.input({random.between(1, 9), random.between(1, 9)})},
                              {{"axis", random.one_of<int64_t>({1, 2, -1})}, {"p", random.between(1, 2)}})});
}

Graph mean_variance_norm(GraphBuilder& net) {
  Random& random = net.random();
  const Geometry g(random, 2, 2);
  return net.finish({net.node("MeanVarianceNormalization", {net.input(g.with({random.between(1, 9)}, g.sizes))}, {{"axes", Ints{2, 3}}})});
}

Graph normalized_batch(GraphBuilder& net) {
  Random& random = net.random();
  const Geometry g(random, random.one_of<int64_t>({1, 3}), 1);
  const int64_t channels = random.between(1, 20);
  return net.finish({net.node("BatchNormalization", {net.input(g.with({channels}, g.sizes)), net.floats({channels}, 0.5f, 1.5f),
                                                     net.floats({channels}), net.floats({channels}), net.floats({channels}, 0.2f, 2)})});
}

// A product in another type, between two casts. The numbers are whole, so that every type holds them.
Graph typed_matmul(GraphBuilder& net, int64_t type) {
  Random& random = net.random();
  const int64_t rows = random.between(1, 9), depth = random.between(1, 30), columns = random.between(1, 9);
  const ValueId a = cast(net, net.input({rows, depth}, DataType::i32), type),
                b = cast(net, net.input({depth, columns}, DataType::i32), type);
  return net.finish({cast(net, net.node("MatMul", {a, b}), onnx_f32)});
}

// Attention as networks write it: heads are apart, scores are scaled, a mask is added.
Graph attention(GraphBuilder& net) {
  Random& random = net.random();
  const int64_t positions = random.between(1, 40), heads = random.between(1, 4), depth = random.between(1, 20);
  const Ints turned{0, 2, 1, 3};
  const auto projected = [&](const Ints& order) {
    return net.node("Transpose", {net.input({positions, heads, depth})}, {{"perm", order}});
  };
  const ValueId q = projected(turned), k = projected({0, 2, 3, 1}), v = projected(turned);
  ValueId scores = net.node("Div", {net.node("MatMul", {q, k}), net.floats({}, 2, 4)});
  if (random.chance(0.7))
    scores = net.node("Add", {scores, net.input(random.chance(0.5) ? Shape{1, 1, positions} : Shape{1, positions, positions})});
  const ValueId y = net.node("MatMul", {net.node("Softmax", {scores}, {{"axis", int64_t{-1}}}), v});
  return net.finish({net.node("Transpose", {y}, {{"perm", turned}})});
}

// Steps first, as recurrent layers want it; the last two results in front again.
Graph recurrent(GraphBuilder& net, const std::string& op, int64_t gates) {
  Random& random = net.random();
  const std::string direction = random.one_of<std::string>({"forward", "reverse", "bidirectional"});
  const int64_t directions = direction == "bidirectional" ? 2 : 1, hidden = random.between(1, 12), size = random.between(1, 10);
  const ValueId x = net.node("Transpose", {net.input({random.between(1, 7), size})}, {{"perm", Ints{1, 0, 2}}});
  std::vector<ValueId> inputs{x, net.floats({directions, gates * hidden, size}), net.floats({directions, gates * hidden, hidden})};
  if (random.chance(0.7)) inputs.push_back(net.floats({directions, 2 * gates * hidden}));
  Attributes attributes{{"hidden_size", hidden}, {"direction", direction}};
  if (op == "GRU") attributes["linear_before_reset"] = int64_t{random.chance(0.5)};
  if (random.chance(0.2)) attributes["clip"] = 0.5f;
  const auto results = net.nodes(op, inputs, op == "LSTM" ? 3 : 2, attributes);
  const Ints back{1, 0, 2};
  std::vector<ValueId> outputs{net.node("Transpose", {results[0]}, {{"perm", Ints{2, 0, 1, 3}}})};
  for (size_t i = 1; i < results.size(); ++i) outputs.push_back(net.node("Transpose", {results[i]}, {{"perm", back}}));
  return net.finish(outputs);
}

// What quantizing while the network runs consists of.
Graph dynamic_product(GraphBuilder& net) {
  Random& random = net.random();
  const int64_t depth = random.between(1, 12), columns = random.between(1, 20);  // sums that a float16 can hold
  const auto levels = net.nodes("DynamicQuantizeLinear", {net.input({random.between(1, 6), depth})}, 3);
  Tensor weights = make_tensor(DataType::i8, {depth, columns});
  for (int8_t& weight : writable<int8_t>(weights)) weight = static_cast<int8_t>(random.between(-20, 20));
  const ValueId sums = net.node("MatMulInteger", {levels[0], net.constant(std::move(weights)), levels[2]});
  return net.finish({net.node("Mul", {cast(net, sums, onnx_f32), net.node("Mul", {levels[1], net.floats({}, 0.01f, 0.02f)})})});
}

Graph dynamic_convolution(GraphBuilder& net) {
  Random& random = net.random();
  const Geometry g(random, 2);
  const int64_t in = random.between(1, 5), out = random.between(1, 5);
  const auto levels = net.nodes("DynamicQuantizeLinear", {net.input(g.with({in}, g.sizes))}, 3);
  Tensor weights = make_tensor(DataType::u8, g.with({out, in}, g.kernel));
  for (uint8_t& weight : writable<uint8_t>(weights)) weight = static_cast<uint8_t>(random.between(0, 255));
  Tensor zero = make_tensor(DataType::u8, {});
  writable<uint8_t>(zero)[0] = 128;
  const ValueId sums =
      net.node("ConvInteger", {levels[0], net.constant(std::move(weights)), levels[2], net.constant(std::move(zero))}, g.attributes());
  return net.finish({net.node("Mul", {cast(net, sums, onnx_f32), net.node("Mul", {levels[1], net.floats({}, 0.01f, 0.02f)})})});
}

// How many boxes there are the data decides; their sum has a shape that is known.
Graph chosen_boxes(GraphBuilder& net) {
  Random& random = net.random();
  const int64_t count = random.between(1, 30);
  const ValueId boxes = net.input({count, 4}), scores = net.input({random.between(1, 3), count});
  const ValueId chosen = net.node(
      "NonMaxSuppression", {boxes, scores, net.ints({random.between(1, 10)}), net.floats({1}, 0.2f, 0.8f), net.floats({1}, -0.5f, 0.5f)},
      {{"center_point_box", int64_t{random.chance(0.3)}}});
  const ValueId sum = net.node("ReduceSum", {cast(net, chosen, onnx_f32), net.ints({0})}, {{"keepdims", int64_t{1}}});
  return net.finish({net.node("Add", {net.input({3}), sum})});
}

OperatorCase ranked(const std::string& op, int64_t rank, Graph (*build)(GraphBuilder&, int64_t)) {
  return {op + " " + std::to_string(rank) + "D", 17, [=](GraphBuilder& net) { return build(net, rank); }, false};
}
OperatorCase pool_case(const std::string& op, int64_t rank, int opset) {
  return {op + " " + std::to_string(rank) + "D opset " + std::to_string(opset), opset,
          [=](GraphBuilder& net) { return pool(net, op, rank); }, false};
}
OperatorCase global_case(const std::string& op) {
  return {op + " of any rank", 17, [=](GraphBuilder& net) { return global_pool(net, op); }, false};
}
OperatorCase recurrent_case(const std::string& op, int64_t gates) {
  return {op, 17, [=](GraphBuilder& net) { return recurrent(net, op, gates); }, false};
}
OperatorCase typed_case(const std::string& name, int64_t type) {
  return {"MatMul of " + name, 17, [=](GraphBuilder& net) { return typed_matmul(net, type); }, false};
}

}  // namespace

std::vector<OperatorCase> ranked_cases() {
  return {
      ranked("Conv", 1, convolution),
      ranked("Conv", 3, convolution),
      ranked("ConvTranspose", 1, transposed),
      ranked("ConvTranspose", 2, transposed),
      ranked("ConvTranspose", 3, transposed),
      pool_case("MaxPool", 1, 12),
      pool_case("MaxPool", 3, 17),
      pool_case("AveragePool", 1, 17),
      pool_case("AveragePool", 2, 19),
      pool_case("AveragePool", 3, 17),
      pool_case("LpPool", 1, 17),
      pool_case("LpPool", 2, 18),
      global_case("GlobalAveragePool"),
      global_case("GlobalLpPool"),
      global_case("GlobalMaxPool"),
      {"BatchNormalization 1D and 3D", 13, normalized_batch, false},
  };
}

std::vector<OperatorCase> heavy_cases() {
  return {
      {"GroupNormalization opset 18", 18, group_norm, false},
      {"GroupNormalization opset 21", 21, group_norm, false},
      {"InstanceNormalization", 17, instance_norm, false},
      {"LRN", 17, lrn, false},
      {"LayerNormalization over any axis", 17, layer_norm, false},
      {"LayerNormalization written out", 13, layer_norm_written_out, false},
      {"LpNormalization", 17, lp_norm, false},
      {"MeanVarianceNormalization", 17, mean_variance_norm, false},
      {"MatMul Softmax MatMul", 17, attention, false},
      typed_case("float64", onnx_f64),
      typed_case("float16", onnx_f16),
      typed_case("int32", onnx_i32),
      typed_case("int64", onnx_i64),
      recurrent_case("GRU", 3),
      recurrent_case("LSTM", 4),
      recurrent_case("RNN", 1),
      {"DynamicQuantizeLinear and MatMulInteger", 17, dynamic_product, false, true},
      {"DynamicQuantizeLinear and ConvInteger", 17, dynamic_convolution, false, true},
      {"NonMaxSuppression", 17, chosen_boxes, false, true},
  };
}

}  // namespace deepgap::conformance
