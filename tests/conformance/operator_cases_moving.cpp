// Operators that move elements whatever their type is: picking by indices, scattering, repeating, padding, rearranging. Each is drawn for
// every element type; then the edges: nothing at all, axes of size 1, negative axes and steps, the limits of int64, older opsets.
#include "operator_cases.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace deepgap::conformance {
namespace {

using Ints = std::vector<int64_t>;
// Makes an input of the tested element type, batch first.
using Input = std::function<ValueId(const Shape&)>;
using Move = Graph (*)(GraphBuilder&, const Input&);

struct ElementType {
  const char* name;
  int64_t number;  // ONNX's
};
constexpr ElementType element_types[] = {{"float32", 1}, {"float64", 11}, {"float16", 10}, {"int8", 3},
                                         {"int32", 6},   {"int64", 7},    {"uint8", 2},    {"bool", 9}};

// Small whole numbers, which every type holds, behind a Cast where engines take no inputs of the type.
ValueId input_of(GraphBuilder& net, const Shape& sample, const ElementType& type) {
  if (type.number == 1) return net.input(sample);
  const ValueId whole = net.input(sample, DataType::i32);
  if (type.number == 6) return whole;
  return net.node("Cast", {type.number == 2 ? net.node("Mul", {whole, whole}) : whole}, {{"to", type.number}});
}

// A value without a batch, once for each sample of `x`.
ValueId for_each_sample(GraphBuilder& net, ValueId value, ValueId x, Ints sizes) {
  const ValueId batch = net.node("Slice", {net.node("Shape", {x}), net.ints({0}), net.ints({1})});
  return net.node("Expand", {value, net.node("Concat", {batch, net.ints(sizes)}, {{"axis", int64_t{0}}})});
}

ValueId index_tensor(GraphBuilder& net, Shape shape, const Ints& values) {
  Tensor tensor = make_tensor(DataType::i64, std::move(shape));
  std::copy(values.begin(), values.end(), writable<int64_t>(tensor).begin());
  return net.constant(std::move(tensor));
}

// Different places of an axis, some of them counted from the end.
Ints different_places(Random& random, int64_t count, int64_t size) {
  Ints places(static_cast<size_t>(size));
  std::iota(places.begin(), places.end(), 0);
  for (size_t i = places.size() - 1; i > 0; --i)
    std::swap(places[i], places[static_cast<size_t>(random.between(0, static_cast<int64_t>(i)))]);
  places.resize(static_cast<size_t>(count));
  for (int64_t& place : places) place -= random.chance(0.4) ? size : 0;
  return places;
}

Graph gather(GraphBuilder& net, const Input& input) {
  Random& random = net.random();
  const Shape sample{random.between(1, 6), random.between(1, 6)};
  const int64_t axis = random.between(1, 2), size = sample[static_cast<size_t>(axis - 1)];
  const Ints rows = different_places(random, random.between(1, size), size);
  const ValueId indices = random.chance(0.3) ? index_tensor(net, {}, {rows[0]}) : net.ints(rows);
  return net.finish({net.node("Gather", {input(sample), indices}, {{"axis", random.chance(0.5) ? axis : axis - 3}})});
}

// Indices between -5 and 5 that come with the data.
Graph gather_elements(GraphBuilder& net, const Input& input) {
  Random& random = net.random();
  const int64_t rows = random.between(6, 9), columns = random.between(1, 5);
  const ValueId x = input({rows, columns}), indices = net.input({random.between(1, 12), columns}, DataType::i64);
  return net.finish({net.node("GatherElements", {x, indices}, {{"axis", random.chance(0.5) ? int64_t{1} : int64_t{-2}}})});
}

Graph gather_nd(GraphBuilder& net, const Input& input) {
  Random& random = net.random();
  const bool deep = random.chance(0.5);
  const Shape sample{random.between(6, 9), deep ? random.between(6, 9) : random.between(1, 4)};
  const ValueId x = input(sample), indices = net.input({random.between(1, 6), deep ? 2 : 1}, DataType::i64);
  return net.finish({net.node("GatherND", {x, indices}, {{"batch_dims", int64_t{1}}})});
}

// The first or the last sample's element at each place, for all samples.
Graph gather_nd_of_batch(GraphBuilder& net, const Input& input) {
  Random& random = net.random();
  const Shape sample{random.between(1, 6), random.between(1, 6)};
  const ValueId x = input(sample);
  Ints indices;
  const int64_t count = random.between(1, 5);
  for (int64_t i = 0; i < count; ++i) {
    indices.push_back(random.between(-1, 0));
    for (const int64_t size : sample) indices.push_back(random.between(-size, size - 1));
  }
  return net.finish({for_each_sample(net, net.node("GatherND", {x, index_tensor(net, {count, 3}, indices)}), x, {count})});
}

Graph scatter_elements(GraphBuilder& net, const Input& input) {
  Random& random = net.random();
  const int64_t rows = random.between(1, 7), columns = random.between(1, 5), count = random.between(1, rows);
  const ValueId x = input({rows, columns}), updates = input({count, columns});
  Ints indices;
  const Ints places = different_places(random, count, rows);
  for (const int64_t place : places)
    for (int64_t i = 0; i < columns; ++i) indices.push_back(place);
  const ValueId all = for_each_sample(net, index_tensor(net, {1, count, columns}, indices), x, {count, columns});
  return net.finish({net.node(net.opset() < 11 ? "Scatter" : "ScatterElements", {x, all, updates}, {{"axis", int64_t{1}}})});
}

Graph scatter_nd(GraphBuilder& net, const Input& input) {
  Random& random = net.random();
  const int64_t rows = random.between(1, 7), columns = random.between(1, 5), count = random.between(1, rows);
  const ValueId x = input({rows, columns});
  Ints indices;
  for (const int64_t place : different_places(random, count, rows)) indices.insert(indices.end(), {0, place});
  const ValueId first = net.node("Gather", {input({count, columns}), index_tensor(net, {}, {0})});
  return net.finish({net.node("ScatterND", {x, index_tensor(net, {count, 2}, indices), first})});
}

Graph tile(GraphBuilder& net, const Input& input) {
  Random& random = net.random();
  const Shape sample{random.between(1, 5), random.between(1, 5)};
  return net.finish({net.node("Tile", {input(sample), net.ints({1, random.between(1, 3), random.between(1, 3)})})});
}

Graph pad_with(GraphBuilder& net, const Input& input, const char* mode) {
  Random& random = net.random();
  const Shape sample{random.between(1, 4), random.between(4, 8), random.between(4, 8)};
  Ints pads(8, 0);
  for (const size_t axis : {2u, 3u, 6u, 7u}) pads[axis] = random.between(0, 3);
  return net.finish({net.node("Pad", {input(sample), net.ints(pads)}, {{"mode", std::string(mode)}})});
}
Graph pad_constant(GraphBuilder& net, const Input& input) { return pad_with(net, input, "constant"); }
Graph pad_reflect(GraphBuilder& net, const Input& input) { return pad_with(net, input, "reflect"); }
Graph pad_edge(GraphBuilder& net, const Input& input) { return pad_with(net, input, "edge"); }

Graph slice(GraphBuilder& net, const Input& input) {
  Random& random = net.random();
  const Shape sample{random.between(1, 9), random.between(1, 9)};
  const Ints steps{random.one_of<int64_t>({1, 2, -1, -3}), random.one_of<int64_t>({1, 2, -1})};
  const auto end = [&](int64_t step) { return step > 0 ? random.between(-1, 12) : random.between(-12, 1); };
  const ValueId starts = net.ints({random.between(-9, 9), random.between(-9, 9)}), ends = net.ints({end(steps[0]), end(steps[1])});
  return net.finish({net.node("Slice", {input(sample), starts, ends, net.ints({1, -1}), net.ints(steps)})});
}

Graph concat(GraphBuilder& net, const Input& input) {
  Random& random = net.random();
  const int64_t rows = random.between(1, 4);
  const ValueId a = input({rows, random.between(1, 4)}), b = input({rows, random.between(1, 4)});
  return net.finish({net.node("Concat", {a, b}, {{"axis", int64_t{-1}}})});
}

Graph split(GraphBuilder& net, const Input& input) {
  Random& random = net.random();
  const int64_t part = random.between(1, 4);
  const auto parts = net.nodes("Split", {input({2 * part, random.between(1, 4)})}, 2, {{"axis", int64_t{-2}}});
  return net.finish({parts[1], parts[0]});
}

Graph transpose(GraphBuilder& net, const Input& input) {
  Random& random = net.random();
  return net.finish({net.node("Transpose", {input({random.between(1, 5), random.between(1, 5)})}, {{"perm", Ints{0, 2, 1}}})});
}

Graph expand(GraphBuilder& net, const Input& input) {
  Random& random = net.random();
  const int64_t columns = random.between(1, 5);
  return net.finish({net.node("Expand", {input({1, columns}), net.ints({1, random.between(1, 4), random.chance(0.5) ? 1 : columns})})});
}

Graph trilu(GraphBuilder& net, const Input& input) {
  Random& random = net.random();
  const Shape sample{random.between(1, 6), random.between(1, 6)};
  std::vector<ValueId> inputs{input(sample)};
  if (random.chance(0.7)) inputs.push_back(index_tensor(net, {}, {random.between(-7, 7)}));
  return net.finish({net.node("Trilu", inputs, {{"upper", random.between(0, 1)}})});
}

Graph depth_to_space(GraphBuilder& net, const Input& input) {
  Random& random = net.random();
  const int64_t block = random.between(1, 3);
  Attributes attributes{{"blocksize", block}};
  if (net.opset() >= 11 && random.chance(0.6)) attributes["mode"] = std::string("CRD");
  const Shape sample{random.between(1, 3) * block * block, random.between(1, 4), random.between(1, 4)};
  return net.finish({net.node("DepthToSpace", {input(sample)}, attributes)});
}

Graph space_to_depth(GraphBuilder& net, const Input& input) {
  Random& random = net.random();
  const int64_t block = random.between(1, 3);
  const Shape sample{random.between(1, 3), random.between(1, 3) * block, random.between(1, 3) * block};
  return net.finish({net.node("SpaceToDepth", {input(sample)}, {{"blocksize", block}})});
}

Graph one_hot(GraphBuilder& net, const Input& input) {
  Random& random = net.random();
  const ValueId indices = net.input({random.between(1, 5)}, DataType::i64);
  const ValueId first = net.node("Gather", {input({2}), index_tensor(net, {}, {0})});  // off and on
  const ValueId depth = index_tensor(net, {}, {random.between(1, 8)});
  return net.finish({net.node("OneHot", {indices, depth, first}, {{"axis", random.between(1, 2) * (random.chance(0.5) ? 1 : -1)}})});
}

Graph resize_nearest(GraphBuilder& net, const Input& input) {
  Random& random = net.random();
  Tensor scales = make_tensor(DataType::f32, {4});
  for (size_t i = 0; i < 4; ++i) writable<float>(scales)[i] = i < 2 ? 1 : static_cast<float>(random.between(1, 3));
  const ValueId x = input({random.between(1, 3), random.between(1, 4), random.between(1, 4)});
  const Attributes attributes{{"coordinate_transformation_mode", std::string("asymmetric")}, {"nearest_mode", std::string("floor")}};
  return net.finish({net.node("Resize", {x, no_value, net.constant(scales)}, attributes)});
}

struct MoveCase {
  const char* name;
  Move build;
};
constexpr MoveCase moves[] = {{"Gather", gather},
                              {"GatherElements", gather_elements},
                              {"GatherND", gather_nd},
                              {"GatherND over the batch", gather_nd_of_batch},
                              {"ScatterElements", scatter_elements},
                              {"ScatterND", scatter_nd},
                              {"Tile", tile},
                              {"Pad", pad_constant},
                              {"Pad reflect", pad_reflect},
                              {"Pad edge", pad_edge},
                              {"Slice", slice},
                              {"Concat", concat},
                              {"Split", split},
                              {"Transpose", transpose},
                              {"Expand", expand},
                              {"Trilu", trilu},
                              {"DepthToSpace", depth_to_space},
                              {"SpaceToDepth", space_to_depth},
                              {"OneHot", one_hot},
                              {"Resize nearest", resize_nearest}};

Graph scatter_reduced(GraphBuilder& net, const std::string& reduction) {
  Random& random = net.random();
  const int64_t rows = random.between(6, 9), columns = random.between(1, 4), count = random.between(1, 9);
  const ValueId x = net.input({rows, columns}), indices = net.input({count, columns}, DataType::i64), updates = net.input({count, columns});
  return net.finish({net.node("ScatterElements", {x, indices, updates}, {{"axis", int64_t{1}}, {"reduction", reduction}})});
}

Graph scatter_nd_reduced(GraphBuilder& net, const std::string& reduction) {
  Random& random = net.random();
  const int64_t rows = random.between(1, 3), count = random.between(2, 5);
  const ValueId x = net.input({rows, 2});
  Ints indices;
  for (int64_t i = 0; i < count; ++i) indices.insert(indices.end(), {0, random.between(-rows, rows - 1)});
  return net.finish(
      {net.node("ScatterND", {x, index_tensor(net, {count, 2}, indices), net.floats({count, 2})}, {{"reduction", reduction}})});
}

Graph wrapped(GraphBuilder& net) {
  Random& random = net.random();
  const ValueId x = net.input({random.between(2, 5), random.between(2, 5)});
  const ValueId pads = net.ints({random.between(0, 2), random.between(0, 2), random.between(0, 2), random.between(0, 2)});
  return net.finish({net.node("Pad", {x, pads, no_value, net.ints({-1, 1})}, {{"mode", std::string("wrap")}})});
}

Graph cut_off(GraphBuilder& net) {
  Random& random = net.random();
  const ValueId x = net.input({random.between(4, 8), random.between(4, 8)});
  const ValueId pads = net.ints({0, random.between(-2, 2), -1, 0, random.between(-2, 2), random.between(0, 2)});
  return net.finish({net.node("Pad", {x, pads, net.floats({}, 3, 3)})});
}

// As many elements come as go, so that the shape stays.
Graph shifted(GraphBuilder& net) {
  const ValueId x = net.input({net.random().between(3, 6), net.random().between(3, 6)});
  return net.finish({net.node("Pad", {x, net.ints({0, -1, 2, 0, 1, -2})})});
}

// Joins two values of one channel along height or width. A convolution makes the first.
Graph joined_single_channels(GraphBuilder& net) {
  Random& random = net.random();
  const int64_t height = random.between(2, 4), width = random.between(3, 7);
  const ValueId x = net.input({3, height, width}), plain = net.node("Sigmoid", {net.input({1, height, width})});
  const ValueId made = net.node("Conv", {x, net.floats({1, 3, 1, 1})});
  return net.finish({net.node("Concat", {made, plain}, {{"axis", random.between(2, 3)}})});
}

// What follows a Concat element by element may be computed with it.
Graph normalized_parts(GraphBuilder& net) {
  Random& random = net.random();
  const int64_t height = random.between(1, 4), width = random.between(1, 4);
  std::vector<ValueId> parts;
  int64_t channels = 0;
  for (int64_t i = random.between(2, 4); i > 0; --i) {
    const int64_t more = random.one_of<int64_t>({1, 4, 8, 16, 5});
    channels += more;
    const ValueId x = net.input({more, height, width});
    parts.push_back(random.chance(0.5) ? net.node("Conv", {x, net.floats({more, more, 1, 1})}) : net.node("Relu", {x}));
  }
  const ValueId joined = net.node("Concat", parts, {{"axis", int64_t{1}}});
  const ValueId normal = net.node("BatchNormalization", {joined, net.floats({channels}), net.floats({channels}), net.floats({channels}),
                                                         net.floats({channels}, 0.5, 2)});
  return net.finish({net.node("Relu", {normal})});
}

// As attributes, to opset 10.
Graph old_pad(GraphBuilder& net) {
  const ValueId x = net.input({net.random().between(2, 5), 3});
  return net.finish({net.node("Pad", {x}, {{"pads", Ints{0, 1, 0, 0, 0, 2}}, {"value", 0.5f}})});
}
Graph old_slice(GraphBuilder& net) {
  const ValueId x = net.input({net.random().between(3, 6), 5});
  return net.finish({net.node("Slice", {x}, {{"starts", Ints{1, -3}}, {"ends", Ints{100, -1}}, {"axes", Ints{1, 2}}})});
}
Graph old_split(GraphBuilder& net) {
  const auto parts = net.nodes("Split", {net.input({net.random().between(1, 3), 5})}, 2, {{"axis", int64_t{2}}, {"split", Ints{2, 3}}});
  return net.finish({parts[0], parts[1]});
}

Graph uneven_split(GraphBuilder& net) {
  const ValueId x = net.input({7, net.random().between(1, 3)});
  const auto parts = net.nodes("Split", {x}, 3, {{"axis", int64_t{1}}, {"num_outputs", int64_t{3}}});
  return net.finish({parts[0], parts[1], parts[2]});
}

Graph reversed(GraphBuilder& net) {
  Random& random = net.random();
  const ValueId x = net.input({random.between(1, 6), random.between(1, 3)});
  const int64_t steps = 6;
  const ValueId padded = net.node("Pad", {x, net.ints({0, 0, 0, 0, steps, 0})});  // at least that long
  const ValueId lengths = for_each_sample(net, net.ints({random.between(1, steps)}), x, {});
  return net.finish({net.node("ReverseSequence", {padded, lengths}, {{"batch_axis", int64_t{0}}, {"time_axis", int64_t{1}}})});
}

// Shape with a beginning and an end, from opset 15 on; Size; a tensor of that shape; positions along it.
Graph shape_arithmetic(GraphBuilder& net) {
  Random& random = net.random();
  const ValueId x = net.input({random.between(1, 4), random.between(1, 4)});
  const ValueId shape = net.node("Shape", {x}, {{"start", int64_t{-2}}, {"end", int64_t{100}}});
  const ValueId twos = net.node("ConstantOfShape", {shape}, {{"value", random_tensor(random, {1}, 2, 2)}});
  const ValueId size = net.node("Cast", {net.node("Size", {twos})}, {{"to", int64_t{1}}});
  const ValueId columns = net.node("Gather", {shape, index_tensor(net, {}, {-1})});
  const ValueId places = net.node("Range", {index_tensor(net, {}, {0}), columns, index_tensor(net, {}, {1})});
  const ValueId sum = net.node("Add", {net.node("Cast", {places}, {{"to", int64_t{1}}}), net.node("Mul", {twos, size})});
  return net.finish({net.node("Add", {x, sum})});
}

Graph float_range(GraphBuilder& net) {
  const ValueId places = net.node("Range", {net.floats({}, 1, 1), net.floats({}, -1, -1), net.floats({}, -0.4f, -0.4f)});
  return net.finish({net.node("Add", {net.input({2, 5}), places})});
}

// More than is computed before the network runs: 20 and 24 MB.
Graph large_constants(GraphBuilder& net) {
  Random& random = net.random();
  const ValueId x = net.input({3});
  const ValueId fives = net.node("ConstantOfShape", {net.ints({5'000'000})}, {{"value", random_tensor(random, {1}, 5, 5)}});
  const ValueId places = net.node("Range", {index_tensor(net, {}, {0}), index_tensor(net, {}, {3'000'000}), index_tensor(net, {}, {1})});
  const ValueId some = net.node("Cast", {net.node("Slice", {places, net.ints({40}), net.ints({43})})}, {{"to", int64_t{1}}});
  const ValueId few = net.node("Slice", {fives, net.ints({-3}), net.ints({5'000'000})});
  return net.finish({net.node("Add", {x, net.node("Div", {some, few})})});
}

// Which elements are not zero is known before the network runs.
Graph non_zero(GraphBuilder& net) {
  Random& random = net.random();
  const int64_t columns = random.between(2, 6);
  Tensor mask = make_tensor(DataType::boolean, {columns});
  for (uint8_t& flag : writable<uint8_t>(mask)) flag = static_cast<uint8_t>(random.between(0, 1));
  const ValueId places = net.node("Squeeze", {net.node("NonZero", {net.constant(mask)}), net.ints({0})});
  return net.finish({net.node("Gather", {net.input({3, columns}), places}, {{"axis", int64_t{2}}})});
}

Graph eye(GraphBuilder& net) {
  Random& random = net.random();
  const ValueId x = net.input({random.between(1, 5)});
  return net.finish({net.node("Add", {x, net.node("EyeLike", {x}, {{"k", random.between(-2, 2)}})})});
}

Graph slice_at_the_limits(GraphBuilder& net) {
  const int64_t most = std::numeric_limits<int64_t>::max(), least = std::numeric_limits<int64_t>::min();
  const ValueId x = net.input({5, 4});
  return net.finish({net.node("Slice", {x, net.ints({least, -1}), net.ints({most, least}), net.ints({1, 2}), net.ints({1, -1})}),
                     net.node("Slice", {x, net.ints({most}), net.ints({least}), net.ints({1}), net.ints({-2})})});
}

// Nothing picked, repeated and left over, joined with something.
Graph nothing(GraphBuilder& net) {
  const ValueId x = net.input({3, 2});
  const ValueId none = net.node("Gather", {x, net.ints({})}, {{"axis", int64_t{1}}});
  const ValueId cut = net.node("Slice", {x, net.ints({2}), net.ints({1}), net.ints({1})});
  const ValueId repeated = net.node("Tile", {cut, net.ints({1, 2, 1})});
  return net.finish({net.node("Concat", {none, x, repeated}, {{"axis", int64_t{1}}})});
}

OperatorCase edge(const std::string& name, int opset, Graph (*build)(GraphBuilder&)) { return {name, opset, build, false}; }

}  // namespace

std::vector<OperatorCase> moving_cases() {
  std::vector<OperatorCase> cases{edge("Pad wrap", 19, wrapped),
                                  edge("Pad that cuts off", 17, cut_off),
                                  edge("Pad that shifts", 17, shifted),
                                  edge("Concat of single channels", 17, joined_single_channels),
                                  edge("Concat BatchNormalization and Relu", 17, normalized_parts),
                                  edge("Pad to opset 10", 10, old_pad),
                                  edge("Slice to opset 9", 9, old_slice),
                                  edge("Split to opset 12", 12, old_split),
                                  edge("Split unevenly", 18, uneven_split),
                                  edge("ReverseSequence", 17, reversed),
                                  edge("Shape Size and Range", 17, shape_arithmetic),
                                  edge("Range of floats", 17, float_range),
                                  edge("ConstantOfShape and Range of many", 17, large_constants),
                                  edge("NonZero", 17, non_zero),
                                  edge("EyeLike", 17, eye),
                                  edge("Slice at the limits", 17, slice_at_the_limits),
                                  edge("Nothing", 17, nothing)};
  for (const MoveCase& move : moves)
    for (const ElementType& type : element_types)
      cases.push_back(
          {std::string(move.name) + " of " + type.name, 17,
           [move, type](GraphBuilder& net) { return move.build(net, [&](const Shape& sample) { return input_of(net, sample, type); }); },
           false});
  const ElementType& f32 = element_types[0];
  const auto of_floats = [&](Move build) {
    return [build, f32](GraphBuilder& net) { return build(net, [&](const Shape& sample) { return input_of(net, sample, f32); }); };
  };
  cases.push_back({"Scatter to opset 10", 10, of_floats(scatter_elements), false});
  cases.push_back({"DepthToSpace to opset 10", 10, of_floats(depth_to_space), false});
  cases.push_back({"Gather to opset 10", 10, of_floats(gather), false});
  for (const char* reduction : {"add", "mul", "max", "min"}) {
    const std::string name = reduction;
    cases.push_back({"ScatterElements " + name, 18, [name](GraphBuilder& net) { return scatter_reduced(net, name); }, false});
    cases.push_back({"ScatterND " + name, 18, [name](GraphBuilder& net) { return scatter_nd_reduced(net, name); }, false});
  }
  return cases;
}

}  // namespace deepgap::conformance
