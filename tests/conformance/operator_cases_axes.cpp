// What goes along axes: reductions, choices, running sums, softmax, Einsum; and changes of type.
#include "operator_cases.h"

#include "model/onnx_types.h"

#include <utility>

namespace deepgap::conformance {
namespace {

Shape random_sample(Random& random, int64_t least_rank = 1) {
  Shape shape(static_cast<size_t>(random.between(least_rank, 3)));
  for (int64_t& size : shape) size = random.chance(0.2) ? 1 : random.between(2, 9);
  return shape;
}

// One of the sample's, from the front or from the back.
int64_t random_axis(Random& random, const Shape& sample) {
  const auto rank = static_cast<int64_t>(sample.size());
  return random.chance(0.5) ? random.between(1, rank) : random.between(-rank, -1);
}

bool is_float(DataType type) { return type == DataType::f32 || type == DataType::f64 || type == DataType::f16; }

std::string typed(const std::string& op, DataType type) { return op + " " + std::string(name_of(type)); }

// Axes are an attribute until opset 17 (of ReduceSum until 12), then an input.
Graph reduced(GraphBuilder& net, const std::string& op, DataType type) {
  Random& random = net.random();
  const Shape sample = random_sample(random, 2);
  std::vector<int64_t> axes{random_axis(random, sample)};
  const bool overflows = op == "ReduceProd" && !is_float(type);  // what then comes out is the engine's own
  if (random.chance(0.4) && !overflows) axes = {-1, 1};
  Attributes attributes{{"keepdims", int64_t{random.chance(0.5)}}};
  std::vector<ValueId> inputs{net.input(sample, type)};
  if (net.opset() >= (op == "ReduceSum" ? 13 : 18)) {
    inputs.push_back(net.ints(axes));
  } else {
    attributes["axes"] = axes;
  }
  return net.finish({net.node(op, inputs, attributes)});
}

// Builds the operator on numbers above zero.
Graph log_sum(GraphBuilder& net, DataType type) {
  const ValueId x = net.input(random_sample(net.random(), 2), type);
  const ValueId positive = net.node("Add", {net.node("Abs", {x}), net.number(type, 0.5)});
  return net.finish({net.node("ReduceLogSum", {positive, net.ints({-1})})});
}

Graph reduced_over_no_axes(GraphBuilder& net, const std::string& op) {
  return net.finish({net.node(op, {net.input(random_sample(net.random()))}, {{"noop_with_empty_axes", int64_t{1}}})});
}

// Over all dimensions, those of the batch among them: what has no dimensions left is added to each element.
Graph reduced_to_a_number(GraphBuilder& net, const std::string& op) {
  const ValueId x = net.input(random_sample(net.random()));
  return net.finish({net.node("Add", {x, net.node(op, {x}, {{"keepdims", int64_t{0}}})})});
}

Graph reduced_from_nothing(GraphBuilder& net, const std::string& op) {
  return net.finish({net.node(op, {net.input({3, 0}), net.ints({2})}, {{"keepdims", int64_t{net.random().chance(0.5)}}})});
}

void add_reductions(std::vector<OperatorCase>& cases) {
  const auto add = [&](const std::string& op, const std::string& name, int opset, DataType type) {
    cases.push_back({typed(name, type), opset, [op, type](GraphBuilder& net) { return reduced(net, op, type); }, false});
  };
  constexpr DataType usual[] = {DataType::f32, DataType::f16, DataType::f64, DataType::i32, DataType::i64};
  for (const char* op :
       {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"}) {
    const std::string name = op;
    const bool rounds = name == "ReduceL2" || name == "ReduceLogSumExp";  // what that makes of whole numbers is nowhere said
    for (const DataType type : usual) {
      if (!rounds || (type != DataType::i32 && type != DataType::i64)) add(name, name + " axes as input", 18, type);
    }
    add(name, name + " axes as attribute", 12, DataType::f32);
    cases.push_back({name + " over no axes", 18, [name](GraphBuilder& net) { return reduced_over_no_axes(net, name); }, false});
    cases.push_back({name + " to a number", 13, [name](GraphBuilder& net) { return reduced_to_a_number(net, name); }, false, true});
  }
  for (const char* op : {"ReduceSum", "ReduceProd", "ReduceMax"}) {
    const std::string name = op;
    cases.push_back({name + " of nothing", 20, [name](GraphBuilder& net) { return reduced_from_nothing(net, name); }, false});
  }
  for (const DataType type : {DataType::i8, DataType::u8}) {
    add("ReduceMax", "ReduceMax axes as input", 18, type);
    add("ReduceMin", "ReduceMin axes as input", 18, type);
  }
  add("ReduceMax", "ReduceMax axes as input", 20, DataType::boolean);
  for (const DataType type : {DataType::f32, DataType::f16, DataType::f64})
    cases.push_back({typed("ReduceLogSum", type), 18, [type](GraphBuilder& net) { return log_sum(net, type); }, false});
}

Graph arg_extreme(GraphBuilder& net, const std::string& op, DataType type) {
  Random& random = net.random();
  const Shape sample = random_sample(random);
  Attributes attributes{{"axis", random_axis(random, sample)}, {"keepdims", int64_t{random.chance(0.5)}}};
  if (net.opset() >= 12 && random.chance(0.5)) attributes["select_last_index"] = int64_t{1};
  return net.finish({net.node(op, {net.stepped_input(sample, type)}, attributes)});
}

// k is an attribute until opset 9; since 11 the smallest may be asked for. The order of sorted=0 is the engine's own.
Graph top_k(GraphBuilder& net, DataType type) {
  Random& random = net.random();
  const Shape sample = random_sample(random);
  const int64_t axis = random_axis(random, sample);
  const auto rank = static_cast<int64_t>(sample.size());
  const int64_t k = random.between(1, sample[static_cast<size_t>(axis < 0 ? axis + rank : axis - 1)]);
  Attributes attributes{{"axis", axis}};
  std::vector<ValueId> inputs{net.stepped_input(sample, type)};
  if (net.opset() < 10) {
    attributes["k"] = k;
  } else {
    inputs.push_back(net.ints({k}));
  }
  if (net.opset() >= 11) attributes["largest"] = int64_t{random.chance(0.5)};
  return net.finish(net.nodes("TopK", inputs, 2, attributes));
}

Graph running_sum(GraphBuilder& net, DataType type) {
  Random& random = net.random();
  const Shape sample = random_sample(random);
  const ValueId axis = net.number(random.chance(0.5) ? DataType::i64 : DataType::i32, static_cast<double>(random_axis(random, sample)));
  return net.finish({net.node("CumSum", {net.input(sample, type), axis},
                              {{"exclusive", int64_t{random.chance(0.5)}}, {"reverse", int64_t{random.chance(0.5)}}})});
}

// One axis since opset 13, before that all from it on.
Graph normalised(GraphBuilder& net, const std::string& op, DataType type) {
  const Shape sample = random_sample(net.random());
  Attributes attributes;
  if (net.random().chance(0.8))
    attributes["axis"] =
        net.opset() < 11 ? net.random().between(1, static_cast<int64_t>(sample.size())) : random_axis(net.random(), sample);
  const ValueId x = op == "Hardmax" ? net.stepped_input(sample, type) : net.input(sample, type);
  return net.finish({net.node(op, {x}, attributes)});
}

struct Equation {
  std::string name, text;
  std::vector<std::string> terms;  // the letters of each input's sample; sizes are drawn per letter
};
const std::vector<Equation> equations{
    {"of matrices", "bij,bjk->bik", {"ij", "jk"}},
    {"of queries and keys", "bihd,bjhd->bhij", {"ihd", "jhd"}},
    {"of a transpose", "bij->bji", {"ij"}},
    {"of sums", "bij->bi", {"ij"}},
    {"of diagonals", "bii->bi", {"ii"}},
    {"of axes without names", "...d, ...d -> ...", {"id", "id"}},
    {"of three", "bij,bjk,bk->bi", {"ij", "jk", "k"}},
    {"implied", "...ij,...jk", {"ij", "jk"}},
};

Graph einsum(GraphBuilder& net, const Equation& equation, DataType type) {
  std::map<char, int64_t> sizes;
  std::vector<ValueId> inputs;
  for (const std::string& term : equation.terms) {
    Shape sample;
    for (const char letter : term) {
      if (!sizes.contains(letter)) sizes[letter] = net.random().between(1, 7);
      sample.push_back(sizes[letter]);
    }
    inputs.push_back(net.input(sample, type));
  }
  return net.finish({net.node("Einsum", inputs, {{"equation", equation.text}})});
}

void add_choices(std::vector<OperatorCase>& cases) {
  constexpr DataType some[] = {DataType::f32, DataType::f16, DataType::f64, DataType::i32, DataType::i64};
  for (const DataType type : some) {
    for (const char* op : {"ArgMax", "ArgMin"}) {
      const std::string name = op;
      cases.push_back({typed(name, type), 13, [name, type](GraphBuilder& net) { return arg_extreme(net, name, type); }, false});
    }
    cases.push_back({typed("TopK", type), 11, [type](GraphBuilder& net) { return top_k(net, type); }, false});
    cases.push_back({typed("CumSum", type), 14, [type](GraphBuilder& net) { return running_sum(net, type); }, false});
  }
  cases.push_back({"ArgMax opset 7", 7, [](GraphBuilder& net) { return arg_extreme(net, "ArgMax", DataType::f32); }, false});
  for (const int opset : {9, 10})
    cases.push_back({"TopK opset " + std::to_string(opset), opset, [](GraphBuilder& net) { return top_k(net, DataType::f32); }, false});
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"}) {
    const std::string name = op;
    for (const DataType type : {DataType::f32, DataType::f16, DataType::f64})
      cases.push_back({typed(name, type), 13, [name, type](GraphBuilder& net) { return normalised(net, name, type); }, false});
    for (const int opset : {7, 11, 12}) {
      const std::string titled = name + " opset " + std::to_string(opset);
      cases.push_back({titled, opset, [name](GraphBuilder& net) { return normalised(net, name, DataType::f32); }, false});
    }
  }
  for (const Equation& equation : equations)
    cases.push_back({"Einsum " + equation.name, 12, [equation](GraphBuilder& net) { return einsum(net, equation, DataType::f32); }, false});
  for (const DataType type : {DataType::f16, DataType::f64, DataType::i32, DataType::i64})
    cases.push_back({typed("Einsum", type), 12, [type](GraphBuilder& net) { return einsum(net, equations[1], type); }, false});
}

// Whole and broken numbers that both types hold: beyond its range a type may make of them what it wants.
Graph changed(GraphBuilder& net, const std::string& op, DataType from, DataType to) {
  ValueId x = net.stepped_input(random_sample(net.random()), from);
  if (is_float(from)) x = net.node("Mul", {x, net.number(from, 3)});
  if (to == DataType::u8 && from != DataType::boolean && from != DataType::u8) x = net.node("Abs", {x});
  if (op == "CastLike") return net.finish({net.node(op, {x, net.number(to, 1)})});
  return net.finish({net.node(op, {x}, {{"to", onnx_type_of(to)}})});
}

void add_casts(std::vector<OperatorCase>& cases) {
  constexpr DataType types[] = {DataType::f32, DataType::f16, DataType::f64, DataType::i8,     DataType::i16,
                                DataType::i32, DataType::i64, DataType::u8,  DataType::boolean};
  for (const DataType from : types) {
    for (const DataType to : types) {
      if (from == to) continue;
      const std::string name = typed("Cast from", from) + typed(" to", to);
      cases.push_back({name, 13, [from, to](GraphBuilder& net) { return changed(net, "Cast", from, to); }, false});
    }
  }
  cases.push_back({"CastLike", 15, [](GraphBuilder& net) { return changed(net, "CastLike", DataType::f32, DataType::i64); }, false});
  cases.push_back({"Cast opset 7", 7, [](GraphBuilder& net) { return changed(net, "Cast", DataType::i32, DataType::f32); }, false});
  cases.push_back({"Cast opset 21", 21, [](GraphBuilder& net) { return changed(net, "Cast", DataType::f32, DataType::f16); }, false});
}

}  // namespace

std::vector<OperatorCase> axis_cases() {
  std::vector<OperatorCase> cases;
  add_reductions(cases);
  add_choices(cases);
  add_casts(cases);
  return cases;
}

}  // namespace deepgap::conformance
