#include "model/steering_inputs.h"

#include "base/test_error.h"
#include "model/eval/element_types.h"
#include "model/graph_tools.h"
#include "model/integer_values.h"
#include "model/random_numbers.h"
#include "model/widened_graph.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Ranges = std::map<std::string, IntegerRange>;

// x: [N,100] of float32, k: [1] of int64; further values follow.
Graph with_inputs() {
  Graph graph;
  graph.values = {{"x", DataType::f32, Dims{{1, batch_symbol}, {100, ""}}}, {"k", DataType::i64, Dims{{1, ""}}}};
  graph.inputs = {0, 1};
  return graph;
}

ValueId add(Graph& graph, const std::string& op, std::vector<ValueId> inputs, std::map<std::string, Attribute> attributes = {},
            std::optional<Dims> dims = std::nullopt, DataType type = DataType::i64) {
  const auto id = static_cast<ValueId>(graph.values.size());
  graph.values.push_back({op + std::to_string(id), type, std::move(dims)});
  graph.nodes.push_back({"n" + std::to_string(id), op, "", std::move(inputs), {id}, std::move(attributes)});
  graph.outputs = {id};
  return id;
}

TEST(SteeringInputs, AreFoundThroughWhatPassesThemOn) {
  Graph graph = with_inputs();
  const ValueId wide = add(graph, "Cast", {1});
  add(graph, "TopK", {0, add(graph, "Mul", {wide, wide})});
  const auto found = steering_inputs(graph);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, "k");
  EXPECT_THAT(found[0].decides, HasSubstr("how many values TopK (node 'n4') picks"));
  EXPECT_THAT(found[0].values, IsEmpty());
  const Error error = failure_of([&] { require_steering(found, {}, "seeded", "net.onnx"); });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_THAT(error.what(),
              HasSubstr("net.onnx: input 'k' decides how many values TopK (node 'n4') picks; give it with --dataset FOLDER or "
                        "--input k=5"));
  EXPECT_NO_THROW(require_steering(found, {{"k", {3}}}, "seeded", "net.onnx"));
  EXPECT_NO_THROW(require_steering(found, {}, "samples/", "net.onnx"));
}

// Engines refuse a made-up share of 1 and more.
TEST(SteeringInputs, AShareThatIsDroppedIsOne) {
  Graph graph = with_inputs();
  graph.values[1] = {"ratio", DataType::f32, Dims{}};
  add(graph, "Dropout", {0, 1});
  const auto found = steering_inputs(graph);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].values, testing::ElementsAre(0.5));
}

TEST(SteeringInputs, WhatTheNetworkDecidesIsNotAskedFor) {
  Graph graph = with_inputs();
  add(graph, "CumSum", {0, 1});
  const auto found = steering_inputs(graph);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].values, ElementsAre(1));
  EXPECT_EQ(with_given(found, {}), (InputNumbers{{"k", {1}}}));
  EXPECT_EQ(with_given(found, {{"k", {0}}}), (InputNumbers{{"k", {0}}}));
}

TEST(SteeringInputs, SizesThatTheFileDeclaresAreNotAskedFor) {
  for (const char* op : {"Reshape", "Expand", "ConstantOfShape", "Resize"}) {
    Graph graph = with_inputs();
    graph.values[0].dims = Dims{{2, ""}, {6, ""}};
    graph.values[1].dims = Dims{{2, ""}};
    const std::vector<ValueId> inputs = op == std::string("Resize")            ? std::vector<ValueId>{0, no_value, no_value, 1}
                                        : op == std::string("ConstantOfShape") ? std::vector<ValueId>{1}
                                                                               : std::vector<ValueId>{0, 1};
    add(graph, op, inputs, {}, Dims{{3, ""}, {4, ""}}, DataType::f32);
    infer_shapes(graph);
    EXPECT_EQ(with_given(steering_inputs(graph), {}), (InputNumbers{{"k", {3, 4}}})) << op;
    EXPECT_NO_THROW(require_steering(steering_inputs(graph), {{"k", {3, 4}}}, "seeded", "net.onnx"));
    EXPECT_THAT(failure_of([&] {
                  require_steering(steering_inputs(graph), {{"k", {2, 6}}}, "seeded", "net.onnx");
                }).what(),
                HasSubstr("net.onnx: --input k=2,6 contradicts the file, which declares 3,4 as the sizes that 'k' decides; leave it out"));
  }
  Graph other = with_inputs();
  other.values[0].dims = Dims{{2, ""}, {6, ""}};
  other.values[1].dims = Dims{{2, ""}};
  add(other, "Reshape", {0, 1}, {}, Dims{{3, ""}, {5, ""}}, DataType::f32);
  infer_shapes(other);
  EXPECT_THAT(steering_inputs(other).at(0).values, IsEmpty()) << "12 numbers do not become 15";
  Graph moved = with_inputs();
  moved.values[1].dims = Dims{{2, ""}};
  add(moved, "Reshape", {0, add(moved, "Identity", {1})}, {}, Dims{{3, ""}, {4, ""}}, DataType::f32);
  EXPECT_THAT(steering_inputs(moved).at(0).values, IsEmpty());
}

// Graph of x, and of k with `type` and as many numbers as x.
Graph with_large_input(DataType type) {
  Graph graph = with_inputs();
  graph.values[1] = {"k", type, graph.values[0].dims};
  return graph;
}

TEST(SteeringInputs, MasksTakeEverythingAndNothingIsDividedBy0) {
  for (const char* op : {"Div", "Mod"}) {
    Graph graph = with_large_input(DataType::i32);
    add(graph, op, {0, 1});
    EXPECT_EQ(with_given(steering_inputs(graph), {}), (InputNumbers{{"k", {1}}})) << op;
    graph.values[1].type = DataType::f32;
    EXPECT_THAT(steering_inputs(graph), IsEmpty()) << "floats are divided by anything";
  }
  Graph picked = with_large_input(DataType::boolean);
  add(picked, "Compress", {0, 1});
  EXPECT_EQ(with_given(steering_inputs(picked), {}), (InputNumbers{{"k", {1}}}));
  Graph found = with_large_input(DataType::boolean);
  add(found, "NonZero", {add(found, "Identity", {1}, {}, std::nullopt, DataType::boolean)});
  EXPECT_EQ(with_given(steering_inputs(found), {}), (InputNumbers{{"k", {1}}}));
  Graph reckoned = with_large_input(DataType::f32);
  add(reckoned, "NonZero", {add(reckoned, "Greater", {1, 0}, {}, std::nullopt, DataType::boolean)});
  EXPECT_THAT(steering_inputs(reckoned), IsEmpty()) << "data";
}

TEST(SteeringInputs, TheExampleIsOneThatTheNetworkTakes) {
  const auto example = [](const std::string& op, size_t input, int64_t count) {
    Graph graph = with_inputs();
    graph.values[1].dims = Dims{{count, ""}};
    std::vector<ValueId> inputs(input, 0);
    inputs.push_back(1);
    add(graph, op, inputs);
    return steering_inputs(graph).at(0).example;
  };
  EXPECT_EQ(example("Pad", 1, 4), "k=0,0,0,0");
  EXPECT_EQ(example("Reshape", 1, 3), "k=0,0,-1");
  EXPECT_EQ(example("Expand", 1, 2), "k=1,1");
  EXPECT_EQ(example("Slice", 4, 1), "k=1");
  EXPECT_EQ(example("Resize", 3, 4), "k=1,3,224,224");
  EXPECT_EQ(example("Resize", 2, 4), "k=1,1,2,2");
  EXPECT_EQ(example("TopK", 1, 1), "k=5");
  EXPECT_EQ(example("Range", 0, 1), "k=0");
  EXPECT_EQ(example("Range", 1, 1), "k=5");
  EXPECT_EQ(example("Range", 2, 1), "k=1");
}

TEST(SteeringInputs, TheExampleOfASplitFillsTheAxis) {
  for (const char* op : {"Split", "SplitToSequence"}) {
    Graph graph = with_inputs();
    graph.values[1].dims = Dims{{3, ""}};
    add(graph, op, {0, 1}, {{"axis", int64_t{1}}});
    EXPECT_EQ(steering_inputs(graph).at(0).example, "k=33,33,34") << op;
  }
}

TEST(SteeringInputs, OperatorsOfMicrosoftAreKnown) {
  Graph graph = with_inputs();
  add(graph, "Pad", {0, 1});
  graph.nodes[0].domain = "com.microsoft";
  ASSERT_EQ(steering_inputs(graph).size(), 1u);
  graph.nodes[0].domain = "com.example";
  EXPECT_THAT(steering_inputs(graph), IsEmpty());
}

TEST(SteeringInputs, DataIsNone) {
  Graph graph = with_inputs();
  add(graph, "TopK", {0, add(graph, "ReduceMax", {0})});  // the most of 100 numbers
  EXPECT_THAT(steering_inputs(graph), IsEmpty());
  Graph picked = with_inputs();
  add(picked, "Gather", {0, 1}, {{"axis", int64_t{1}}});
  EXPECT_THAT(steering_inputs(picked), IsEmpty());
  EXPECT_EQ(integer_values(picked), (Ranges{{"k", {0, 100}}}));
}

TEST(IntegerValues, OfAnyTypeStayWithinWhatTheyPointInto) {
  for (const DataType type :
       {DataType::u8, DataType::i8, DataType::i16, DataType::u32, DataType::i64, DataType::f32, DataType::f16, DataType::bf16}) {
    Graph graph = with_inputs();
    graph.values[1].type = type;
    const ValueId at = add(graph, "Squeeze", {add(graph, "Cast", {1})});
    add(graph, "GatherElements", {0, at}, {{"axis", int64_t{-1}}});
    EXPECT_EQ(integer_values(graph), (Ranges{{"k", {0, 100}}})) << name_of(type);
  }
  Graph picture = with_inputs();
  picture.values[1].type = DataType::u8;
  EXPECT_THAT(integer_values(picture), IsEmpty()) << "every bit pattern";
}

// Adds a constant of k's type.
ValueId add_constant(Graph& graph, const std::vector<int64_t>& numbers) {
  const auto id = static_cast<ValueId>(graph.values.size());
  const auto count = static_cast<int64_t>(numbers.size());
  graph.values.push_back({"c" + std::to_string(id), DataType::i64, Dims{{count, ""}}});
  Tensor tensor = make_tensor(DataType::i64, {count});
  std::copy(numbers.begin(), numbers.end(), writable<int64_t>(tensor).begin());
  graph.constants[id] = converted(tensor, graph.values[1].type);
  graph.values.back().type = graph.values[1].type;
  return id;
}

struct Arithmetic {
  std::string op;
  size_t operand;  // that k is
  std::vector<int64_t> constant;
  IntegerRange expected;  // for an axis of 100
  std::map<std::string, Attribute> attributes{};
  DataType type = DataType::i64;
};

TEST(IntegerValues, StayWithinTheAxisBehindArithmetic) {
  const std::vector<Arithmetic> all{
      {"Add", 0, {7}, {-7, 100}},
      {"Add", 1, {0, 10, 20}, {0, 80}},
      {"Sub", 0, {1}, {1, 100}},
      {"Sub", 0, {1, 4}, {4, 97}},
      {"Sub", 1, {99}, {0, 100}},
      {"Sub", 1, {0}, {-99, 100}},
      {"Mul", 0, {3}, {0, 34}},
      {"Mul", 0, {-3}, {-33, 34}},
      {"Mul", 1, {2, 5}, {0, 20}},
      {"Div", 0, {4}, {-3, 403}},
      {"Div", 0, {-4}, {-399, 403}},
      {"Mod", 0, {50}, {0, 50}},
      {"Mod", 0, {500}, {0, 100}},
      {"Neg", 0, {}, {-99, 100}},
      {"Abs", 0, {}, {0, 100}},
      {"Min", 0, {200}, {0, 100}},
      {"Max", 0, {5}, {0, 100}},
      {"Pow", 0, {2}, {0, 10}},
      {"BitShift", 0, {2}, {0, 25}, {{"direction", std::string("LEFT")}}, DataType::u64},
      {"BitShift", 0, {2}, {0, 400}, {{"direction", std::string("RIGHT")}}, DataType::u64},
      {"Sub", 0, {1}, {1, 100}, {}, DataType::u8},
      {"Sub", 1, {99}, {0, 100}, {}, DataType::u8},
      {"Mul", 0, {2}, {0, 50}, {}, DataType::i16},
      {"Sub", 0, {1}, {1, 100}, {}, DataType::f32},
      {"Div", 0, {4}, {0, 397}, {}, DataType::f32},
  };
  for (const Arithmetic& one : all) {
    Graph graph = with_inputs();
    graph.values[1].type = one.type;
    std::vector<ValueId> inputs{1};
    if (!one.constant.empty())
      inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(1 - one.operand), add_constant(graph, one.constant));
    const ValueId made = add(graph, one.op, inputs, one.attributes, std::nullopt, one.type);
    add(graph, "Gather", {0, add(graph, "Cast", {made}, {{"to", int64_t{7}}})}, {{"axis", int64_t{1}}});
    EXPECT_EQ(integer_values(graph), (Ranges{{"k", one.expected}})) << one.op << " of " << name_of(one.type);
  }
}

TEST(IntegerValues, StayWithinTheAxisBehindSeveralSteps) {
  Graph graph = with_inputs();
  const ValueId scaled = add(graph, "Mul", {add(graph, "Sub", {1, add_constant(graph, {1})}), add_constant(graph, {2})});
  add(graph, "Gather", {0, add(graph, "Neg", {add(graph, "Sub", {add_constant(graph, {0}), scaled})})}, {{"axis", int64_t{1}}});
  EXPECT_EQ(integer_values(graph), (Ranges{{"k", {1, 50}}}));
  add(graph, "Gather", {0, add(graph, "Add", {1, add_constant(graph, {70})})}, {{"axis", int64_t{1}}});
  EXPECT_EQ(integer_values(graph), (Ranges{{"k", {1, 29}}})) << "within both axes";
}

TEST(IntegerValues, OfASumOfTwoInputsTakeHalfOfTheAxisEach) {
  Graph graph = with_inputs();
  graph.values.push_back({"offset", DataType::i64, Dims{{1, ""}}});
  graph.inputs.push_back(2);
  add(graph, "Gather", {0, add(graph, "Add", {1, 2})}, {{"axis", int64_t{1}}});
  EXPECT_EQ(integer_values(graph), (Ranges{{"k", {0, 50}}, {"offset", {0, 50}}}));
}

TEST(SteeringInputs, NoDivisorIsZeroBehindArithmetic) {
  Graph graph = with_inputs();
  const ValueId whole = add(graph, "Cast", {0}, {{"to", int64_t{7}}});
  add(graph, "Div", {whole, add(graph, "Sub", {1, add_constant(graph, {1})})});
  ASSERT_EQ(steering_inputs(graph).size(), 1u);
  EXPECT_EQ(steering_inputs(graph)[0].name, "k");
  EXPECT_THAT(steering_inputs(graph)[0].values, ElementsAre(2));
}

TEST(SteeringInputs, KnownNumbersArriveBehindArithmetic) {
  Graph graph = with_inputs();
  add(graph, "CumSum", {0, add(graph, "Sub", {1, add_constant(graph, {3})})});
  ASSERT_EQ(steering_inputs(graph).size(), 1u);
  EXPECT_THAT(steering_inputs(graph)[0].values, ElementsAre(4)) << "the last axis, 1";
  Graph doubled = with_inputs();
  add(doubled, "CumSum", {0, add(doubled, "Mul", {1, add_constant(doubled, {2})})});
  EXPECT_THAT(steering_inputs(doubled)[0].values, IsEmpty()) << "no whole number is doubled to 1";
}

TEST(IntegerValues, OfOneHotStayBelowADepthOfAnyType) {
  const auto limit = [](DataType type, auto number) {
    Graph graph = with_inputs();
    graph.values[1].type = type;
    const auto depth = static_cast<ValueId>(graph.values.size());
    graph.values.push_back({"depth", type, Dims{}});
    Tensor tensor = make_tensor(type, {});
    writable<decltype(number)>(tensor)[0] = number;
    graph.constants[depth] = tensor;
    add(graph, "OneHot", {1, depth, 0});
    return integer_values(graph);
  };
  const Ranges ten{{"k", {0, 10}}};
  EXPECT_EQ(limit(DataType::f32, 10.0F), ten);
  EXPECT_EQ(limit(DataType::f64, 10.0), ten);
  EXPECT_EQ(limit(DataType::u8, uint8_t{10}), ten);
  EXPECT_EQ(limit(DataType::i16, int16_t{10}), ten);
  EXPECT_EQ(limit(DataType::i64, int64_t{10}), ten);
}

TEST(IntegerValues, ShiftsStayBelowTheWidthOfTheType) {
  for (const auto& [type, bits] : {std::pair(DataType::u8, 8), {DataType::u16, 16}, {DataType::u32, 32}, {DataType::u64, 64}}) {
    Graph graph = with_inputs();
    graph.values[1].type = type;
    add(graph, "BitShift", {0, 1});
    EXPECT_EQ(integer_values(graph), (Ranges{{"k", {0, bits}}})) << name_of(type);
  }
}

// Boxes whose corners are in any order are not defined: engines made other things of them, and were called wrong.
TEST(SteeringInputs, BoxesAreOfTheWholeMap) {
  const auto values = [](const std::string& op, Dims boxes, std::map<std::string, Attribute> attributes) {
    Graph graph;
    graph.values = {{"x", DataType::f32, Dims{{1, batch_symbol}, {2, ""}, {4, ""}, {6, ""}}}, {"rois", DataType::f32, std::move(boxes)}};
    graph.inputs = {0, 1};
    add(graph, op, {0, 1}, std::move(attributes), std::nullopt, DataType::f32);
    const auto found = steering_inputs(graph);
    return found.empty() ? std::vector<double>() : found.front().values;
  };
  EXPECT_THAT(values("RoiAlign", {{2, ""}, {4, ""}}, {}), ElementsAre(0, 0, 6, 4, 0, 0, 6, 4));
  EXPECT_THAT(values("RoiAlign", {{1, batch_symbol}, {4, ""}}, {{"spatial_scale", 0.5F}}), ElementsAre(0, 0, 12, 8));
  EXPECT_EQ(values("RoiAlign", {{1000, ""}, {4, ""}}, {}).size(), 4000U) << "however many";
  EXPECT_THAT(values("RoiAlign", {{1, "boxes"}, {4, ""}}, {}), IsEmpty()) << "none knows how many: they are not asked for";
  EXPECT_THAT(values("MaxRoiPool", {{1, ""}, {5, ""}}, {}), ElementsAre(0, 0, 0, 6, 4));
  EXPECT_THAT(values("Resize", {{8, ""}}, {}), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
}

TEST(RandomNumbers, CountWhereAnOutputDependsOnThem) {
  Graph graph = with_inputs();
  const ValueId drawn = add(graph, "RandomNormalLike", {0});
  add(graph, "Add", {0, drawn});
  EXPECT_EQ(random_node(graph), "node 'n2' (RandomNormalLike)");
  add(graph, "Relu", {0});
  EXPECT_EQ(random_node(graph), "");
  Graph dropping = with_inputs();
  dropping.values.push_back({"trains", DataType::boolean, Dims{}});
  Tensor no = make_tensor(DataType::boolean, {});
  writable<uint8_t>(no)[0] = 0;
  dropping.constants[2] = no;
  add(dropping, "Dropout", {0, no_value, 2});
  EXPECT_EQ(random_node(dropping), "");
  dropping.constants.clear();
  EXPECT_THAT(random_node(dropping), HasSubstr("Dropout"));
}

TEST(WidenedGraph, HasFloat32InPlaceOfShorterFloats) {
  Graph graph = with_inputs();
  EXPECT_FALSE(widened_graph(graph));
  const ValueId half = add(graph, "Cast", {0}, {{"to", int64_t{10}}}, std::nullopt, DataType::f16);
  add(graph, "Exp", {half}, {}, std::nullopt, DataType::f16);
  const auto wide = widened_graph(graph);
  ASSERT_TRUE(wide);
  EXPECT_EQ(wide->values[static_cast<size_t>(half)].type, DataType::f32);
  EXPECT_EQ(std::get<int64_t>(wide->nodes[0].attributes.at("to")), 1);
  add(graph, "BitCast", {half});
  EXPECT_FALSE(widened_graph(graph));
}

}  // namespace
}  // namespace deepgap
