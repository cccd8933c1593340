// GNMT as MLPerf Inference v0.5 runs it (Wu et al., 2016; tensorflow/nmt's wmt16_gnmt_4_layer with attention gnmt_v2): an encoder of one
// bidirectional and three unidirectional LSTMs, a decoder of four with normed Bahdanau attention, beam search with a length penalty.
//
// Seeded weights would decide at random when an answer ends, and so what is measured. Here an answer has as many words as its sentence,
// which are an input: the word that ends it is chosen then and not before.
#include "base/messages.h"
#include "model/zoo/gnmt_decoder.h"
#include "model/zoo/options.h"
#include "model/zoo/zoo.h"

#include "base/registry.h"
#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>

namespace deepgap {

namespace {

using Ints = std::vector<int64_t>;

// unrolled: one step behind another; loop: ONNX's Loop; encoder and step: the parts that a host can drive.
enum class Form { unrolled, loop, encoder, step };

struct Options {
  GnmtShape shape;
  Form form = Form::unrolled;
  bool words = false;  // are an output
};

Options options_of(const std::string& model, const ZooOptions& given) {
  constexpr std::pair<const char*, Form> forms[] = {
      {"unrolled", Form::unrolled}, {"loop", Form::loop}, {"encoder", Form::encoder}, {"step", Form::step}};
  Options options;
  for (const auto& [key, text] : given) {
    if (key == "width") {
      options.shape.hidden =
          std::max<int64_t>(1, std::llround(static_cast<double>(options.shape.hidden) * number_option(model, key, text, 0.001, 8)));
    } else if (key == "vocabulary") {
      options.shape.vocabulary = int_option(model, key, text, 4, 1'000'000);
    } else if (key == "beams") {
      options.shape.beams = int_option(model, key, text, 1, 1000);
    } else if (key == "length") {
      options.shape.length = int_option(model, key, text, 1, 512);
    } else if (key == "words") {
      options.words = int_option(model, key, text, 0, 1) == 1;
    } else if (key == "form") {
      const auto* const found =
          std::find_if(std::begin(forms), std::end(forms), [&wanted = text](const auto& one) { return one.first == wanted; });
      if (found == std::end(forms))
        throw Error(ErrorKind::usage,
                    fmt::format("model '{}': {}", model, invalid_choice(text, "form", {"unrolled", "loop", "encoder", "step"})));
      options.form = found->second;
    } else {
      throw Error(ErrorKind::usage, fmt::format("model '{}': {}", model,
                                                unknown_name("option", key, {"beams", "form", "length", "vocabulary", "width", "words"})));
    }
  }
  if (options.shape.beams > options.shape.vocabulary)
    throw Error(ErrorKind::usage,
                fmt::format("model '{}': {} beams, the vocabulary has {} words", model, options.shape.beams, options.shape.vocabulary));
  return options;
}

class Builder {
 public:
  explicit Builder(const Options& options) : options_(options), shape_(options.shape), net_("gnmt") {}

  Graph build() {
    if (options_.form == Form::step) return step();
    tokens_ = net_.input("tokens", DataType::i64, {{1, batch_symbol}, {shape_.length, ""}});
    lengths_ = net_.input("lengths", DataType::i64, {{1, batch_symbol}});
    const ValueId states = encode();
    GnmtDecoder decoder(net_, shape_);
    const GnmtMemory memory{states, decoder.keys(states), mask()};
    if (options_.form == Form::encoder) return without_unread(net_.finish({memory.states, memory.keys}));
    const ValueId sizes = net_.node("Shape", "tokens.shape", {tokens_});
    GnmtState state = decoder.first_state(net_.node("Gather", "sentences", {sizes, net_.integers("first_axis", {0})}));
    options_.form == Form::loop ? loop(decoder, memory, state) : unroll(decoder, memory, state);
    std::vector<ValueId> outputs{decoder.answer_scores(state)};
    if (options_.words) outputs.push_back(state.words);
    return net_.finish(outputs);
  }

 private:
  // A part leaves the other's nodes and weights out.
  static Graph without_unread(Graph graph) {
    std::set<ValueId> read(graph.outputs.begin(), graph.outputs.end());
    std::vector<Node> nodes;
    for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
      if (std::none_of(node->outputs.begin(), node->outputs.end(), [&](ValueId id) { return read.contains(id); })) continue;
      read.insert(node->inputs.begin(), node->inputs.end());
      nodes.push_back(*node);
    }
    graph.nodes.assign(nodes.rbegin(), nodes.rend());
    std::erase_if(graph.constants, [&](const auto& constant) { return !read.contains(constant.first); });
    return graph;
  }

  ValueId lstm(const std::string& name, ValueId x, int64_t inputs, bool both_ways) {
    const int64_t h = shape_.hidden, directions = both_ways ? 2 : 1;
    const std::string layer = "encoder." + name;
    // TensorFlow's cells have one bias; ONNX's second one is none.
    const ValueId bias =
        net_.node("Pad", layer + ".biases",
                  {net_.weight(layer + ".bias", {directions, 4 * h}), net_.integers("encoder.no_second_bias", {0, 0, 0, 4 * h})});
    std::map<std::string, Attribute> attributes{{"hidden_size", h}};
    if (both_ways) attributes["direction"] = std::string("bidirectional");
    return net_.node("LSTM", layer,
                     {x, net_.weight(layer + ".kernel", {directions, 4 * h, inputs}),
                      net_.weight(layer + ".recurrent_kernel", {directions, 4 * h, h}), bias, sequence_lengths_},
                     std::move(attributes));
  }

  // [N, S, hidden]
  ValueId encode() {
    const int64_t h = shape_.hidden;
    sequence_lengths_ = net_.node("Cast", "lengths.int32", {lengths_}, {{"to", int64_t{6}}});
    const ValueId by_place = net_.node("Transpose", "tokens.by_place", {tokens_}, {{"perm", Ints{1, 0}}});
    ValueId x = net_.node("Gather", "encoder.embedding", {net_.weight("encoder.embedding.weight", {shape_.vocabulary, h}), by_place});
    x = net_.node("Transpose", "encoder.bidirectional.joined", {lstm("bidirectional", x, h, true)}, {{"perm", Ints{0, 2, 1, 3}}});
    x = net_.node("Reshape", "encoder.bidirectional.states", {x, net_.integers("encoder.both", {0, 0, 2 * h})});
    for (int layer = 1; layer < 4; ++layer) {
      const std::string name = fmt::format("layer_{}", layer);
      const ValueId y = net_.node("Squeeze", "encoder." + name + ".states",
                                  {lstm(name, x, layer == 1 ? 2 * h : h, false), net_.integers("encoder.direction", {1})});
      x = layer == 1 ? y : net_.node("Add", "encoder." + name + ".residual", {y, x});
    }
    return net_.node("Transpose", "encoder.states", {x}, {{"perm", Ints{1, 0, 2}}}, "states");
  }

  void unroll(GnmtDecoder& decoder, const GnmtMemory& memory, GnmtState& state) {
    for (int64_t i = 0; i < shape_.length; ++i)
      decoder.search(fmt::format("step_{}", i), state, memory, net_.integers(fmt::format("step_{}.position", i), {i}), lengths_);
  }

  Dims dims_of_state(const GnmtState& state, ValueId id) const {
    const Dim sentences{1, batch_symbol}, rows{shape_.beams, batch_symbol}, beams{shape_.beams, ""};
    if (id == state.tokens) return {rows};
    if (id == state.scores || id == state.lengths || id == state.finished) return {sentences, beams};
    return {rows, {id == state.words ? shape_.length : shape_.hidden, ""}};
  }

  // Runs steps until all beams of all sentences have ended.
  void loop(GnmtDecoder& decoder, const GnmtMemory& memory, GnmtState& state) {
    net_.infer();
    NetworkBuilder body("gnmt.step");
    GnmtDecoder inner(body, decoder);
    const ValueId position = body.input("body.position", DataType::i64, {});
    body.input("body.going_on", DataType::boolean, {});
    std::vector<ValueId> given{net_.integers("steps", {shape_.length}), no_value}, results;
    GnmtState within;
    std::vector<Value> kinds;
    for (size_t i = 0; i < state.all().size(); ++i) {
      given.push_back(*state.all()[i]);
      kinds.push_back({"", net_.described(given.back()).type, dims_of_state(state, *state.all()[i])});
      *within.all()[i] = body.input(fmt::format("body.state_{}", i), kinds.back().type, kinds.back().dims.value());
    }
    inner.search("body.step", within, {inner.here(memory.states), inner.here(memory.keys), inner.here(memory.mask)}, position,
                 inner.here(lengths_));
    const ValueId ended = body.node("Cast", "body.ended", {within.finished}, {{"to", int64_t{7}}});  // int64
    const ValueId all = body.node("ReduceMin", "body.all_ended", {ended}, {{"keepdims", int64_t{0}}});
    results.push_back(body.node("Not", "body.goes_on", {body.node("Cast", "body.have_all_ended", {all}, {{"to", int64_t{9}}})}));
    for (const ValueId* one : within.all()) results.push_back(*one);
    const Attribute steps = std::make_shared<const Graph>(body.finish(results));
    const std::vector<ValueId> last = net_.node_of_many("Loop", "steps.loop", given, {{"body", steps}}, kinds.size());
    for (size_t i = 0; i < last.size(); ++i) {
      net_.declare(last[i], kinds[i].type, kinds[i].dims.value());
      *state.all()[i] = last[i];
    }
  }

  // Each row is a beam, with the memory of its sentence.
  Graph step() {
    const Dim row{1, batch_symbol};
    const int64_t h = shape_.hidden;
    GnmtState state;
    state.tokens = net_.input("tokens", DataType::i64, {row});
    for (size_t layer = 0; layer < gnmt::layers; ++layer) {
      state.h[layer] = net_.input(fmt::format("h_{}", layer), DataType::f32, {row, {h, ""}});
      state.c[layer] = net_.input(fmt::format("c_{}", layer), DataType::f32, {row, {h, ""}});
    }
    state.context = net_.input("context", DataType::f32, {row, {h, ""}});
    GnmtDecoder decoder(net_, shape_);
    GnmtMemory memory;
    memory.states = net_.input("states", DataType::f32, {row, {shape_.length, ""}, {h, ""}});
    memory.keys = net_.input("keys", DataType::f32, {row, {1, ""}, {shape_.length, ""}, {h, ""}});
    lengths_ = net_.input("lengths", DataType::i64, {row});
    memory.mask = mask();
    std::vector<ValueId> outputs{decoder.cells("step", state, memory, 1)};
    for (const auto* states : {&state.h, &state.c}) outputs.insert(outputs.end(), states->begin(), states->end());
    outputs.push_back(state.context);
    return without_unread(net_.finish(outputs));
  }

  // Where the places of a sentence hold a word: [N, 1, S].
  ValueId mask() {
    Ints places(static_cast<size_t>(shape_.length));
    std::iota(places.begin(), places.end(), 0);
    const ValueId each = net_.node("Unsqueeze", "lengths.of_beams", {lengths_, net_.integers("lengths.axes", {1, 2})});
    return net_.node("Less", "lengths.mask", {net_.integers("encoder.places", places), each});
  }

  Options options_;
  GnmtShape shape_;
  NetworkBuilder net_;
  ValueId tokens_ = no_value, lengths_ = no_value, sequence_lengths_ = no_value;
};

class Gnmt : public ZooModel {
 public:
  std::string name() const override { return "gnmt"; }
  std::string describe() const override {
    return "GNMT translating (MLPerf v0.5), 4 + 4 LSTMs of 1024, beam search of 10, as tensorflow/nmt's wmt16_gnmt_4_layer";
  }
  Graph build(const ZooOptions& options) const override { return Builder(options_of(name(), options)).build(); }
};

const bool registered = Registry<ZooModel>::instance().add("gnmt", [] { return std::make_unique<Gnmt>(); });

}  // namespace

}  // namespace deepgap
