#include "model/zoo/gnmt_decoder.h"

#include <fmt/format.h>

#include <numeric>

namespace deepgap {
namespace {

using Ints = std::vector<int64_t>;

}  // namespace

std::vector<ValueId*> GnmtState::all() {
  std::vector<ValueId*> values{&tokens};
  for (auto* states : {&h, &c})
    for (ValueId& one : *states) values.push_back(&one);
  values.insert(values.end(), {&context, &scores, &lengths, &finished, &words});
  return values;
}

GnmtDecoder::GnmtDecoder(NetworkBuilder& net, const GnmtShape& shape) : net_(net), shape_(shape) {
  const int64_t h = shape.hidden;
  const auto weight = [&](const std::string& name, Shape sizes) { made_[name] = net_.weight("decoder." + name, std::move(sizes)); };
  weight("embedding", {shape.vocabulary, h});
  for (size_t layer = 0; layer < gnmt::layers; ++layer) {
    weight(fmt::format("cell_{}.kernel", layer), {3 * h, 4 * h});  // weights for input, context and h
    weight(fmt::format("cell_{}.bias", layer), {4 * h});
  }
  for (const char* name : {"memory_kernel", "query_kernel"}) weight(fmt::format("attention.{}", name), {h, h});
  weight("attention.v", {h, 1});
  weight("attention.g", {1, 1});
  weight("attention.b", {h});
  weight("projection", {h, shape.vocabulary});
  make_shared();
}

GnmtDecoder::GnmtDecoder(NetworkBuilder& body, const GnmtDecoder& around) : net_(body), around_(&around), shape_(around.shape_) {}

// Makes what all steps have in common.
void GnmtDecoder::make_shared() {
  // v / |v| * g, the normed Bahdanau attention's.
  const ValueId v = made_["attention.v"];
  const ValueId square = net_.node("Gemm", "decoder.attention.square", {v, v}, {{"transA", int64_t{1}}});
  const ValueId unit = net_.node("Div", "decoder.attention.unit", {v, net_.node("Sqrt", "decoder.attention.norm", {square})});
  made_["attention.scale"] = net_.node("MatMul", "decoder.attention.scale", {unit, made_["attention.g"]});
  Ints words(static_cast<size_t>(shape_.vocabulary));
  std::iota(words.begin(), words.end(), 0);
  made_["is_end"] = net_.node("Equal", "search.is_end", {integers("all_words", words), integers("end", {gnmt::end})});
  made_["ended"] = net_.node("Where", "search.ended", {made_["is_end"], number("zero_sum", 0), number("least", gnmt::least)});
}

ValueId GnmtDecoder::here(ValueId around) {
  if (around_ == nullptr) return around;
  const auto found = here_.find(around);
  if (found != here_.end()) return found->second;
  const Value& value = around_->net_.described(around);
  // Among the values that bodies read, only the size of a Range does not follow from the sizes of inputs: it is the first rows'.
  const Dims dims = value.dims.value_or(Dims{{1, batch_symbol}, {1, ""}});
  return here_[around] = net_.outer(value.name, value.type, dims);
}

// Names in a body differ from those around it.
ValueId GnmtDecoder::integers(const std::string& name, const Ints& content) { return net_.integers(setting(name), content); }
ValueId GnmtDecoder::number(const std::string& name, float content) { return net_.scalar(setting(name), content); }
std::string GnmtDecoder::setting(const std::string& name) const { return (around_ == nullptr ? "search." : "body.") + name; }

ValueId GnmtDecoder::own(const std::string& name) { return around_ == nullptr ? made_.at(name) : here(around_->made_.at(name)); }

ValueId GnmtDecoder::keys(ValueId states) {
  const ValueId keys = net_.node("MatMul", "decoder.attention.keys", {states, own("attention.memory_kernel")});
  const ValueId moved = net_.node("Add", "decoder.attention.bias", {keys, own("attention.b")});
  return net_.node("Unsqueeze", "decoder.attention.keys_of_beams", {moved, integers("axis_1", {1})});
}

// Gates in TensorFlow's order: input, candidate, forget, output; the forget gate's bias of 1 is part of the bias.
ValueId GnmtDecoder::cell(const std::string& name, size_t layer, ValueId input, GnmtState& state) {
  const std::string weights = fmt::format("cell_{}", layer), place = name + "." + weights;
  const auto node = [&](const char* op, const char* what, std::vector<ValueId> inputs) {
    return net_.node(op, place + "." + what, std::move(inputs));
  };
  const ValueId all = net_.node("Concat", place + ".inputs", {input, state.h[layer]}, {{"axis", int64_t{1}}});
  const ValueId sums = node("Add", "bias", {node("MatMul", "product", {all, own(weights + ".kernel")}), own(weights + ".bias")});
  const std::vector<ValueId> gates = net_.split(place + ".gates", sums, 1, 4);
  const ValueId added = node("Mul", "added", {node("Sigmoid", "input", {gates[0]}), node("Tanh", "candidate", {gates[1]})});
  const ValueId kept = node("Mul", "kept", {node("Sigmoid", "forget", {gates[2]}), state.c[layer]});
  state.c[layer] = node("Add", "c", {kept, added});
  state.h[layer] = node("Mul", "h", {node("Sigmoid", "output", {gates[3]}), node("Tanh", "squashed", {state.c[layer]})});
  return state.h[layer];
}

// [N * K, hidden]: what the encoder's states are, each as far as the query fits its key.
ValueId GnmtDecoder::attend(const std::string& name, ValueId query, const GnmtMemory& memory, int64_t beams) {
  const auto node = [&](const char* op, const char* what, std::vector<ValueId> inputs, std::map<std::string, Attribute> with = {}) {
    return net_.node(op, name + ".attention." + what, std::move(inputs), std::move(with));
  };
  const ValueId rows = integers("rows_of_beams", {-1, beams, 1, shape_.hidden});
  const ValueId asked = node("Reshape", "query", {node("MatMul", "product", {query, own("attention.query_kernel")}), rows});
  const ValueId fits = node("MatMul", "fits", {node("Tanh", "tanh", {node("Add", "sum", {memory.keys, asked})}), own("attention.scale")});
  const ValueId scores = node("Squeeze", "scores", {fits, integers("axis_3", {3})});  // [N, K, S]
  const ValueId masked = node("Where", "masked", {memory.mask, scores, number("least", gnmt::least)});
  const ValueId shares = node("Softmax", "shares", {masked}, {{"axis", int64_t{-1}}});
  return node("Reshape", "context", {node("MatMul", "weighted", {shares, memory.states}), integers("rows", {-1, shape_.hidden})});
}

ValueId GnmtDecoder::cells(const std::string& name, GnmtState& state, const GnmtMemory& memory, int64_t beams) {
  const ValueId word = net_.node("Gather", name + ".embedding", {own("embedding"), state.tokens});
  const auto with_context = [&](const std::string& place, ValueId x) {
    return net_.node("Concat", place, {x, state.context}, {{"axis", int64_t{1}}});
  };
  ValueId x = cell(name, 0, with_context(name + ".input_0", word), state);
  state.context = attend(name, x, memory, beams);
  for (size_t layer = 1; layer < gnmt::layers; ++layer) {
    const ValueId y = cell(name, layer, with_context(fmt::format("{}.input_{}", name, layer), x), state);
    x = layer < 2 ? y : net_.node("Add", fmt::format("{}.residual_{}", name, layer), {y, x});
  }
  const ValueId logits = net_.node("MatMul", name + ".projection", {x, own("projection")});
  return net_.node("LogSoftmax", name + ".log_softmax", {logits}, {{"axis", int64_t{-1}}});
}

GnmtState GnmtDecoder::first_state(ValueId sentences) {
  const auto join = [&](const char* name, ValueId first, int64_t second) {
    return net_.node("Concat", fmt::format("first.{}_shape", name), {first, integers(fmt::format("first.{}_columns", name), {second})},
                     {{"axis", int64_t{0}}});
  };
  const auto filled = [&](const char* name, ValueId shape, Tensor value) {
    return net_.node("ConstantOfShape", fmt::format("first.{}", name), {shape}, {{"value", std::move(value)}});
  };
  const auto of_float = [](float value) {
    Tensor tensor = make_tensor(DataType::f32, {1});
    writable<float>(tensor)[0] = value;
    return tensor;
  };
  const auto of_int = [](int64_t value) {
    Tensor tensor = make_tensor(DataType::i64, {1});
    writable<int64_t>(tensor)[0] = value;
    return tensor;
  };
  const ValueId rows = net_.node("Mul", "first.rows", {sentences, integers("beams", {shape_.beams})});
  const ValueId beams = join("beams", sentences, shape_.beams);
  const ValueId zeros = filled("zeros", join("zeros", rows, shape_.hidden), of_float(0));
  const auto single = [&](const char* name, ValueId x) { return net_.node("Squeeze", fmt::format("first.{}", name), {x}); };
  const ValueId order = net_.node(
      "Range", "first.order", {single("zero", integers("zero", {0})), single("sentences", sentences), single("one", integers("one", {1}))});
  const ValueId first_rows = net_.node("Mul", "first.first_rows", {order, integers("beams", {shape_.beams})});
  made_["first_rows"] = net_.node("Unsqueeze", "first.row_of_beams", {first_rows, integers("axis_1", {1})});
  GnmtState state;
  state.tokens = filled("tokens", rows, of_int(gnmt::begin));
  state.h.fill(zeros);
  state.c.fill(zeros);
  state.context = zeros;
  Ints numbers(static_cast<size_t>(shape_.beams));
  std::iota(numbers.begin(), numbers.end(), 0);
  // All beams begin alike, so that only the first one counts.
  const ValueId nothing = filled("nothing", beams, of_float(0));
  const ValueId is_first = net_.node("Equal", "first.is_first", {integers("beam_numbers", numbers), integers("zero", {0})});
  state.scores = net_.node("Where", "first.scores", {is_first, nothing, number("least", gnmt::least)});
  state.lengths = filled("lengths", beams, of_float(0));
  state.finished = net_.node("Cast", "first.finished", {nothing}, {{"to", int64_t{9}}});  // bool
  state.words = filled("words", join("words", rows, shape_.length), of_int(gnmt::end));
  return state;
}

// A beam that has ended goes on at no cost with the word that ends it. Others end where their answer's length says so, and only there.
ValueId GnmtDecoder::allowed(const std::string& name, ValueId log_probabilities, const GnmtState& state, ValueId at_end) {
  const ValueId axis = integers("axis_2", {2});
  const ValueId each =
      net_.node("Reshape", name + ".of_beams", {log_probabilities, integers("beams_words", {-1, shape_.beams, shape_.vocabulary})});
  const ValueId may = net_.node("Equal", name + ".may", {own("is_end"), at_end});
  const ValueId going_on = net_.node("Where", name + ".going_on", {may, each, number("least", gnmt::least)});
  const ValueId finished = net_.node("Unsqueeze", name + ".finished_words", {state.finished, axis});
  return net_.node("Where", name + ".allowed", {finished, own("ended"), going_on});
}

// ((5 + length) / 6)^1
ValueId GnmtDecoder::penalty(const std::string& name, ValueId lengths) {
  const ValueId sum = net_.node("Add", name + ".penalty_sum", {lengths, number("penalty.five", 5)});
  return net_.node("Div", name + ".penalty", {sum, number("penalty.six", 6)});
}

void GnmtDecoder::search(const std::string& name, GnmtState& state, const GnmtMemory& memory, ValueId position, ValueId lengths) {
  const auto node = [&](const char* op, const char* what, std::vector<ValueId> inputs, std::map<std::string, Attribute> with = {}) {
    return net_.node(op, name + "." + what, std::move(inputs), std::move(with));
  };
  const ValueId axis_2 = integers("axis_2", {2});
  const ValueId logs = cells(name, state, memory, shape_.beams);
  // The answer's words before its end are as many as `lengths`, less the one that ends it.
  const ValueId next = node("Add", "next", {position, integers("one", {1})});
  const ValueId ends = node("LessOrEqual", "ends", {lengths, next});  // [N]
  const ValueId at_end = node("Unsqueeze", "at_end", {ends, integers("axes_1_2", {1, 2})});
  const ValueId words = allowed(name, logs, state, at_end);
  const ValueId sums = node("Add", "sums", {node("Unsqueeze", "scores", {state.scores, axis_2}), words});  // [N, K, V]
  const ValueId still = node("Or", "still", {state.finished, node("Squeeze", "end_of_beams", {at_end, axis_2})});
  const ValueId longer = node("Add", "longer", {state.lengths, node("Where", "more", {still, number("none", 0), number("one_more", 1)})});
  const ValueId judged = node("Div", "judged", {sums, node("Unsqueeze", "penalties", {penalty(name, longer), axis_2})});
  const ValueId flat = integers("all_candidates", {-1, shape_.beams * shape_.vocabulary});
  const std::vector<ValueId> best = net_.node_of_many(
      "TopK", name + ".best", {node("Reshape", "candidates", {judged, flat}), integers("best", {shape_.beams})}, {{"axis", int64_t{1}}}, 2);
  const ValueId vocabulary = integers("vocabulary", {shape_.vocabulary});
  const ValueId parent = node("Div", "parent", {best[1], vocabulary}), word = node("Mod", "word", {best[1], vocabulary});
  const ValueId row = node("Reshape", "rows", {node("Add", "row", {parent, own("first_rows")}), integers("all", {-1})});
  const auto by_row = [&](const std::string& what, ValueId& value) {
    value = net_.node("Gather", name + ".next_" + what, {value, row}, {{"axis", int64_t{0}}});
  };
  for (size_t layer = 0; layer < gnmt::layers; ++layer) {
    by_row(fmt::format("h_{}", layer), state.h[layer]);
    by_row(fmt::format("c_{}", layer), state.c[layer]);
  }
  by_row("context", state.context);
  by_row("words", state.words);
  const std::map<std::string, Attribute> of_beams{{"axis", int64_t{1}}};
  state.scores = node("GatherElements", "next_scores", {node("Reshape", "flat_sums", {sums, flat}), best[1]}, of_beams);
  state.lengths = node("GatherElements", "next_lengths", {longer, parent}, of_beams);
  state.finished = node("Equal", "next_finished", {word, integers("end", {gnmt::end})});
  state.tokens = node("Reshape", "next_tokens", {word, integers("all", {-1})});
  Ints places(static_cast<size_t>(shape_.length));
  std::iota(places.begin(), places.end(), 0);
  const ValueId now = node("Equal", "now", {integers("places", places), position});  // [S]
  const ValueId column = node("Unsqueeze", "column", {state.tokens, integers("axis_1", {1})});
  state.words = node("Where", "words", {now, column, state.words});
}

ValueId GnmtDecoder::answer_scores(const GnmtState& state) {
  return net_.node("Div", "answer.scores", {state.scores, penalty("answer", state.lengths)}, {}, "scores");
}

}  // namespace deepgap
