// For tests: a decoder of random weights with past key values, as exporters write it, and its greedy answers computed without a cache.
#pragma once

#include "model/eval/evaluator.h"
#include "model/eval/half.h"
#include "model/zoo/network_builder.h"

#include <deepgap/graph.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace deepgap {

struct TinyOnnxDecoder {
  int64_t layers = 2, heads = 2, size = 4, vocabulary = 29, positions = 64;
  bool has_mask = true, has_positions = true;
  DataType cache = DataType::f32;
  bool last_alone = false;  // halves of the scores of the last tokens, whose number is an input, as some exports give them
  bool merged = false;      // an input says whether its branch with a cache is wanted; the other one's scores are wrong

  Graph graph() const {
    NetworkBuilder net("tiny_decoder");
    const int64_t width = heads * size;
    const Dim batch{1, batch_symbol}, sequence{1, "sequence"}, total{1, "total"}, past{1, "past"};
    const ValueId tokens = net.input("input_ids", DataType::i64, {batch, sequence});
    const ValueId mask = has_mask ? net.input("attention_mask", DataType::i64, {batch, total}) : no_value;
    const ValueId places = has_positions ? net.input("position_ids", DataType::i64, {batch, sequence}) : no_value;
    ValueId x = net.node("Gather", "embed", {random(net, "embed.weight", {vocabulary, width}), tokens});
    if (has_positions)
      x = net.node("Add", "place", {x, net.node("Gather", "places", {random(net, "places.weight", {positions, width}), places})});
    std::vector<ValueId> presents;
    for (int64_t i = 0; i < layers; ++i) x = layer(net, i, x, mask, places, {batch, {heads, ""}, past, {size, ""}}, presents);
    if (merged) x = branch_with_cache(net, x);
    const ValueId head = random(net, "head.weight", {width, vocabulary});
    std::vector<ValueId> outputs{last_alone ? last_scores(net, x, head) : net.node("MatMul", "head", {x, head}, {}, "logits")};
    outputs.insert(outputs.end(), presents.begin(), presents.end());
    return net.finish(outputs);
  }

  // The likeliest tokens after `prompt`, each found by computing all tokens before it anew.
  std::vector<int64_t> answer(std::vector<int64_t> prompt, int64_t count) const {
    const Graph file = graph();
    std::vector<int64_t> tokens;
    for (int64_t i = 0; i < count; ++i) {
      tokens.push_back(next(file, prompt));
      prompt.push_back(tokens.back());
    }
    return tokens;
  }

 private:
  static ValueId random(NetworkBuilder& net, const std::string& name, const Shape& shape) {
    std::mt19937 numbers(static_cast<uint32_t>(name.size() * 7919 + static_cast<size_t>(shape[0] * 31 + shape[1])) + name[name.size() / 2]);
    std::vector<float> content(static_cast<size_t>(element_count(shape)));
    for (float& value : content) value = static_cast<float>(numbers() >> 8) * 0x1p-23F - 1;
    return net.numbers(name, shape, content);
  }

  static ValueId branch_with_cache(NetworkBuilder& net, ValueId x) {
    const ValueId asked = net.input("use_cache_branch", DataType::boolean, {Dim{1, ""}});
    return net.node("Where", "branch", {asked, x, net.node("Neg", "without_cache", {x})});
  }

  static ValueId last_scores(NetworkBuilder& net, ValueId x, ValueId head) {
    const ValueId kept = net.input("num_logits_to_keep", DataType::i64, {});
    const ValueId from = net.node("Neg", "from", {net.node("Reshape", "kept", {kept, net.integers("one", {1})})});
    const ValueId last = net.node("Slice", "last", {x, from, net.integers("to", {INT64_MAX}), net.integers("one", {1})});
    return net.node("Cast", "halves", {net.node("MatMul", "head", {last, head})}, {{"to", int64_t{10}}}, "logits");
  }

  ValueId heads_of(NetworkBuilder& net, const std::string& name, ValueId x) const {
    const ValueId product = net.node("MatMul", name, {x, random(net, name + ".weight", {heads * size, heads * size})});
    const ValueId parts = net.node("Reshape", name + ".heads", {product, net.integers("by_heads", {0, 0, heads, size})});
    return net.node("Transpose", name + ".first", {parts}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  }

  // The past and what follows it.
  ValueId longer(NetworkBuilder& net, int64_t layer, const std::string& kind, ValueId current, const Dims& past,
                 std::vector<ValueId>& presents) const {
    const std::string end = fmt::format("{}.{}", layer, kind);
    const ValueId before = net.input("past_key_values." + end, cache, past);
    const bool halves = cache == DataType::f16;
    if (halves) current = net.node("Cast", end + ".half", {current}, {{"to", int64_t{10}}});
    presents.push_back(net.node("Concat", end + ".joined", {before, current}, {{"axis", int64_t{2}}}, "present." + end));
    return halves ? net.node("Cast", end + ".full", {presents.back()}, {{"to", int64_t{1}}}) : presents.back();
  }

  ValueId layer(NetworkBuilder& net, int64_t i, ValueId x, ValueId mask, ValueId places, const Dims& past,
                std::vector<ValueId>& presents) const {
    const std::string name = fmt::format("layer{}", i);
    const ValueId queries = heads_of(net, name + ".query", x);
    const ValueId keys = longer(net, i, "key", heads_of(net, name + ".key", x), past, presents);
    const ValueId values = longer(net, i, "value", heads_of(net, name + ".value", x), past, presents);
    const ValueId turned = net.node("Transpose", name + ".turned", {keys}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
    ValueId scores = net.node("MatMul", name + ".scores", {queries, turned});
    if (mask != no_value && places != no_value) {
      // A token sees those up to its own place: the mask's sums count places.
      const ValueId sums = net.node("CumSum", name + ".sums", {mask, net.integers("one", {1})});
      const ValueId columns = net.node("Unsqueeze", name + ".columns", {sums, net.integers("middle", {1, 2})});
      const ValueId rows = net.node("Unsqueeze", name + ".rows", {places, net.integers("outside", {1, 3})});
      const ValueId hidden =
          net.node("Greater", name + ".hidden", {columns, net.node("Add", name + ".next", {rows, net.integers("one", {1})})});
      scores = net.node("Where", name + ".masked", {hidden, net.scalar("lowest", -1e9F), scores});
    }
    const ValueId shares = net.node("Softmax", name + ".shares", {scores}, {{"axis", int64_t{-1}}});
    const ValueId seen = net.node("Transpose", name + ".seen", {net.node("MatMul", name + ".mixed", {shares, values})},
                                  {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    const ValueId joined = net.node("Reshape", name + ".together", {seen, net.integers("by_tokens", {0, 0, heads * size})});
    const ValueId out = net.node("MatMul", name + ".out", {joined, random(net, name + ".out.weight", {heads * size, heads * size})});
    return net.node("Add", name + ".sum", {x, net.node("Tanh", name + ".tanh", {out})});
  }

  int64_t next(const Graph& graph, const std::vector<int64_t>& tokens) const {
    std::vector<Tensor> inputs;
    for (const ValueId id : graph.inputs) {
      const std::string& name = graph.values[static_cast<size_t>(id)].name;
      const bool is_past = name.starts_with("past");
      if (name == "num_logits_to_keep") {
        writable<int64_t>(inputs.emplace_back(make_tensor(DataType::i64, {})))[0] = 1;
        continue;
      }
      if (name == "use_cache_branch") {
        writable<bool>(inputs.emplace_back(make_tensor(DataType::boolean, {1})))[0] = true;
        continue;
      }
      Tensor& tensor = inputs.emplace_back(is_past ? make_tensor(cache, {1, heads, 0, size})
                                                   : make_tensor(DataType::i64, {1, static_cast<int64_t>(tokens.size())}));
      for (size_t i = 0; i < tokens.size() && !is_past; ++i)
        writable<int64_t>(tensor)[i] = name == "input_ids" ? tokens[i] : name == "attention_mask" ? 1 : static_cast<int64_t>(i);
    }
    const std::vector<Tensor> outputs = evaluate(graph, inputs);
    std::vector<float> scores(static_cast<size_t>(vocabulary));
    for (size_t i = 0; i < scores.size(); ++i)
      scores[i] = last_alone ? to_float(outputs[0].as<Half>()[i]) : outputs[0].as<float>().last(scores.size())[i];
    return std::max_element(scores.begin(), scores.end()) - scores.begin();
  }
};

}  // namespace deepgap
