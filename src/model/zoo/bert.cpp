// BERT (Devlin et al., 2018), uncased, with the head that answers questions (SQuAD; MLPerf runs the large one at 384 tokens), as Hugging
// Face's BertForQuestionAnswering. Constants have the names of its state dict; those of linear layers are [inputs, outputs].
#include "model/zoo/options.h"
#include "model/zoo/transformer.h"
#include "model/zoo/zoo.h"

#include "base/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace deepgap {

namespace {

constexpr int64_t vocabulary = 30522, longest = 512, segments = 2;

struct Form {
  const char* name;
  int layers;
  int64_t heads;
};

class Bert : public ZooModel {
 public:
  explicit Bert(const Form& form) : form_(form) {}
  std::string name() const override { return form_.name; }
  std::string describe() const override {
    return fmt::format("BERT uncased, {} layers of {}, answering questions, as Hugging Face's BertForQuestionAnswering", form_.layers,
                       64 * form_.heads);
  }
  // Seeded: outputs with 25 dB in BF16, 5 to 11 in INT8, where no node alone is worse than 34.
  bool is_chaotic() const override { return true; }
  // The share is the same for hidden states and attention's probabilities.
  double trained_dropout() const override { return 0.1; }
  Graph build(const ZooOptions& options) const override;

 private:
  Form form_;
};

struct Inputs {
  ValueId tokens, mask, segments;  // integers, [N, sequence]
};

// The sum of what words, segments and places stand for: [N, sequence, size].
ValueId embeddings(NetworkBuilder& net, Transformer& encoder, const Inputs& inputs, const TransformerShape& shape) {
  const auto table = [&](const std::string& name, int64_t rows, ValueId chosen) {
    const std::string layer = "bert.embeddings." + name;
    return net.node("Gather", layer, {net.weight(layer + ".weight", {rows, shape.size()}), chosen});
  };
  std::vector<int64_t> all(longest);
  std::iota(all.begin(), all.end(), 0);
  const ValueId sizes = net.node("Shape", "input_ids.shape", {inputs.tokens});
  const ValueId length = net.node("Gather", "input_ids.length", {sizes, net.integers("second", {1})});
  const ValueId places =
      net.node("Slice", "positions", {net.integers("bert.embeddings.position_ids", all), net.integers("first", {0}), length});
  ValueId x = encoder.add("bert.embeddings.add_1", table("word_embeddings", vocabulary, inputs.tokens),
                          table("token_type_embeddings", segments, inputs.segments));
  x = encoder.add("bert.embeddings.add_2", x, table("position_embeddings", longest, places));
  return net.dropout("bert.embeddings.dropout", encoder.norm("bert.embeddings.LayerNorm", x), shape.dropout);
}

// 0 where the mask is 1, -10000 where it is 0: [N, 1, 1, sequence].
ValueId score_offsets(NetworkBuilder& net, ValueId mask) {
  ValueId x = net.node("Unsqueeze", "mask.unsqueeze", {mask, net.integers("mask.axes", {1, 2})});
  x = net.node("Cast", "mask.cast", {x}, {{"to", int64_t{1}}});  // float
  x = net.node("Sub", "mask.sub", {net.scalar("mask.one", 1.0f), x});
  return net.node("Mul", "mask.mul", {x, net.scalar("mask.least", -10000.0f)});
}

ValueId encoder_layer(NetworkBuilder& net, Transformer& encoder, const TransformerShape& shape, const std::string& name, ValueId x,
                      ValueId mask) {
  const std::string attention = name + ".attention", self = attention + ".self";
  const auto part = [&](const char* which) { return encoder.linear(self + "." + which, x, shape.size(), shape.size()); };
  ValueId y = encoder.attention(self, {part("query"), part("key"), part("value")}, mask);
  y = net.dropout(attention + ".output.dropout", encoder.linear(attention + ".output.dense", y, shape.size(), shape.size()), shape.dropout);
  x = encoder.norm(attention + ".output.LayerNorm", encoder.add(attention + ".output.add", y, x));
  y = encoder.linear(name + ".intermediate.dense", x, shape.size(), shape.hidden);
  y = encoder.linear(name + ".output.dense", encoder.gelu(name + ".intermediate.gelu", y), shape.hidden, shape.size());
  y = net.dropout(name + ".output.dropout", y, shape.dropout);
  return encoder.norm(name + ".output.LayerNorm", encoder.add(name + ".output.add", y, x));
}

Graph Bert::build(const ZooOptions& options) const {
  const TextOptions given = text_options(form_.name, options, {.sequence = 384, .dropout = 0}, longest);
  TransformerShape shape;
  shape.heads = std::max<int64_t>(1, std::llround(static_cast<double>(form_.heads) * given.width));
  shape.hidden = 4 * shape.size();
  shape.dropout = given.dropout;
  NetworkBuilder net(form_.name);
  Transformer encoder(net, shape);
  const Dims sizes{{1, batch_symbol}, {given.sequence, ""}};
  Inputs inputs{};
  inputs.tokens = net.input("input_ids", DataType::i64, sizes);
  inputs.mask = net.input("attention_mask", DataType::i64, sizes);
  inputs.segments = net.input("token_type_ids", DataType::i64, sizes);
  ValueId x = embeddings(net, encoder, inputs, shape);
  const ValueId mask = score_offsets(net, inputs.mask);
  for (int i = 0; i < form_.layers; ++i) x = encoder_layer(net, encoder, shape, fmt::format("bert.encoder.layer.{}", i), x, mask);
  // Scores of each token as the answer's start and as its end: [N, sequence, 2].
  return net.finish(encoder.linear("qa_outputs", x, shape.size(), 2, "output"));
}

bool add_all() {
  for (const Form& form : {Form{"bert_base", 12, 12}, Form{"bert_large", 24, 16}})
    Registry<ZooModel>::instance().add(form.name, [form] { return std::make_unique<Bert>(form); });
  return true;
}

const bool registered = add_all();

}  // namespace

}  // namespace deepgap
