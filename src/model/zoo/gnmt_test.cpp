// GNMT's graphs beside a computation of its own, in double precision and with loops alone.
#include "model/eval/evaluator.h"
#include "model/graph_tools.h"
#include "model/weights/seeded.h"
#include "model/zoo/zoo.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

namespace deepgap {
namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

constexpr int64_t hidden = 16, vocabulary = 40, beams = 3, length = 6;
constexpr const char* tiny = "gnmt:width=0.015625,vocabulary=40,beams=3,length=6";

Graph seeded(const std::string& more = "") {
  ZooOptions options;
  const std::string name = tiny + more;
  Graph graph = find_zoo_model(name, options)->build(options);
  seed_weights(graph, 3, "");
  // Biases are seeded with zeros, which would hide where they go.
  for (auto& [id, tensor] : graph.constants) {
    const std::string& constant = graph.values[static_cast<size_t>(id)].name;
    if (!constant.ends_with(".bias") && !constant.ends_with(".b")) continue;
    Tensor filled = make_tensor(DataType::f32, tensor.shape);
    fill_normal(writable<float>(filled), 5, constant);
    tensor = filled;
  }
  return graph;
}

class Network {
 public:
  explicit Network(const Graph& graph) : graph_(graph) {}
  std::span<const float> weight(const std::string& name) const {
    for (const auto& [id, tensor] : graph_.constants)
      if (graph_.values[static_cast<size_t>(id)].name == name) return tensor.as<float>();
    throw Error(ErrorKind::internal, name);
  }
  Row row(const std::string& name, int64_t at, int64_t size) const {
    const auto all = weight(name).subspan(static_cast<size_t>(at * size), static_cast<size_t>(size));
    return {all.begin(), all.end()};
  }
  // x times a [from, to] matrix.
  Row times(const Row& x, const std::string& name, size_t to) const {
    const auto w = weight(name);
    Row y(to, 0);
    for (size_t i = 0; i < x.size(); ++i)
      for (size_t j = 0; j < to; ++j) y[j] += x[i] * static_cast<double>(w[i * to + j]);
    return y;
  }

 private:
  const Graph& graph_;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
Row joined(Row a, const Row& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// ONNX's order of gates: input, output, forget, candidate.
Rows encoder_layer(const Network& net, const std::string& name, const Rows& inputs, int64_t direction) {
  const size_t h = hidden, in = inputs[0].size();
  const auto w = net.weight(name + ".kernel").subspan(static_cast<size_t>(direction) * 4 * h * in, 4 * h * in);
  const auto r = net.weight(name + ".recurrent_kernel").subspan(static_cast<size_t>(direction) * 4 * h * h, 4 * h * h);
  const auto b = net.weight(name + ".bias").subspan(static_cast<size_t>(direction) * 4 * h, 4 * h);
  Row state(h, 0), cell(h, 0);
  Rows outputs(inputs.size());
  for (size_t t = 0; t < inputs.size(); ++t) {
    const size_t place = direction == 1 ? inputs.size() - 1 - t : t;
    Row sums(b.begin(), b.end());
    for (size_t g = 0; g < 4 * h; ++g) {
      for (size_t i = 0; i < in; ++i) sums[g] += static_cast<double>(w[g * in + i]) * inputs[place][i];
      for (size_t i = 0; i < h; ++i) sums[g] += static_cast<double>(r[g * h + i]) * state[i];
    }
    for (size_t i = 0; i < h; ++i) {
      cell[i] = sigmoid(sums[2 * h + i]) * cell[i] + sigmoid(sums[i]) * std::tanh(sums[3 * h + i]);
      state[i] = sigmoid(sums[h + i]) * std::tanh(cell[i]);
    }
    outputs[place] = state;
  }
  return outputs;
}

Rows encoded(const Network& net, const std::vector<int64_t>& tokens) {
  Rows x;
  for (const int64_t token : tokens) x.push_back(net.row("encoder.embedding.weight", token, hidden));
  const Rows there = encoder_layer(net, "encoder.bidirectional", x, 0), back = encoder_layer(net, "encoder.bidirectional", x, 1);
  for (size_t t = 0; t < x.size(); ++t) x[t] = joined(there[t], back[t]);
  for (int layer = 1; layer < 4; ++layer) {
    Rows y = encoder_layer(net, "encoder.layer_" + std::to_string(layer), x, 0);
    for (size_t t = 0; t < y.size() && layer > 1; ++t)
      for (size_t i = 0; i < y[t].size(); ++i) y[t][i] += x[t][i];
    x = std::move(y);
  }
  return x;
}

struct Beam {
  int64_t token = 1;
  std::array<Row, 4> h{Row(hidden, 0), Row(hidden, 0), Row(hidden, 0), Row(hidden, 0)}, c = h;
  Row context = Row(hidden, 0);
  double score = 0, words = 0;
  bool finished = false;
  std::vector<int64_t> said;
};

// TensorFlow's order of gates: input, candidate, forget, output.
Row decoder_cell(const Network& net, size_t layer, const Row& x, Beam& beam) {
  const std::string name = "decoder.cell_" + std::to_string(layer);
  Row sums = net.times(joined(joined(x, beam.context), beam.h[layer]), name + ".kernel", 4 * hidden);
  const Row bias = net.row(name + ".bias", 0, 4 * hidden);
  for (size_t g = 0; g < sums.size(); ++g) sums[g] += bias[g];
  for (size_t i = 0; i < hidden; ++i) {
    double& c = beam.c[layer][i];
    c = sigmoid(sums[2 * hidden + i]) * c + sigmoid(sums[i]) * std::tanh(sums[hidden + i]);
    beam.h[layer][i] = sigmoid(sums[3 * hidden + i]) * std::tanh(c);
  }
  return beam.h[layer];
}

Row attended(const Network& net, const Rows& memory, const Row& query) {
  const Row asked = net.times(query, "decoder.attention.query_kernel", hidden), v = net.row("decoder.attention.v", 0, hidden);
  const Row b = net.row("decoder.attention.b", 0, hidden);
  const double norm = std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0)), g = net.row("decoder.attention.g", 0, 1)[0];
  Row shares;
  for (const Row& state : memory) {
    const Row key = net.times(state, "decoder.attention.memory_kernel", hidden);
    double fit = 0;
    for (size_t i = 0; i < hidden; ++i) fit += g * v[i] / norm * std::tanh(key[i] + asked[i] + b[i]);
    shares.push_back(std::exp(fit));
  }
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  Row context(hidden, 0);
  for (size_t t = 0; t < memory.size(); ++t)
    for (size_t i = 0; i < hidden; ++i) context[i] += shares[t] / sum * memory[t][i];
  return context;
}

// Logarithms of the next words' probabilities.
Row stepped(const Network& net, const Rows& memory, Beam& beam) {
  Row x = decoder_cell(net, 0, net.row("decoder.embedding", beam.token, hidden), beam);
  beam.context = attended(net, memory, x);
  for (size_t layer = 1; layer < 4; ++layer) {
    const Row y = decoder_cell(net, layer, x, beam);
    for (size_t i = 0; i < hidden; ++i) x[i] = layer < 2 ? y[i] : y[i] + x[i];
  }
  Row logits = net.times(x, "decoder.projection", vocabulary);
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit);
  for (double& logit : logits) logit -= std::log(sum);
  return logits;
}

double penalized(const Beam& beam) { return beam.score / ((5 + beam.words) / 6); }

// `step` advances a beam and returns the logarithms of its next words' probabilities.
std::vector<Beam> searched(int64_t words, const std::function<Row(Beam&)>& step) {
  std::vector<Beam> all(1);
  for (int64_t i = 0; i < words; ++i) {
    std::vector<Beam> candidates;
    for (Beam& beam : all) {
      const Row logs = step(beam);
      for (int64_t word = 0; word < vocabulary; ++word) {
        if ((word == 2) != (i + 1 == words)) continue;
        Beam next = beam;
        next.token = word;
        next.score += logs[static_cast<size_t>(word)];
        next.words += word == 2 ? 0 : 1;
        next.said.push_back(word);
        candidates.push_back(std::move(next));
      }
    }
    std::stable_sort(candidates.begin(), candidates.end(), [](const Beam& a, const Beam& b) { return penalized(a) > penalized(b); });
    candidates.resize(std::min<size_t>(candidates.size(), beams));
    all = std::move(candidates);
  }
  return all;
}

Tensor integers(const Shape& shape, const std::vector<int64_t>& values) {
  Tensor tensor = make_tensor(DataType::i64, shape);
  std::copy(values.begin(), values.end(), writable<int64_t>(tensor).begin());
  return tensor;
}

// Two sentences, of six words and of four; what stands behind the shorter one's end counts for nothing.
const std::vector<int64_t> sentences{7, 11, 3, 39, 20, 5, 9, 9, 30, 2, 17, 18}, lengths{6, 4};
std::vector<Tensor> inputs() { return {integers({2, length}, sentences), integers({2}, lengths)}; }
std::vector<int64_t> sentence(size_t n) {
  return {sentences.begin() + static_cast<std::ptrdiff_t>(n * length),
          sentences.begin() + static_cast<std::ptrdiff_t>(n * length) + lengths[n]};
}

void expect_answers(const std::vector<Tensor>& given, const std::function<Row(size_t n, Beam&)>& step) {
  for (size_t n = 0; n < 2; ++n) {
    const std::vector<Beam> best = searched(lengths[n], [&](Beam& beam) { return step(n, beam); });
    for (size_t k = 0; k < beams; ++k) {
      EXPECT_NEAR(given[0].as<float>()[n * beams + k], penalized(best[k]), 1e-4) << n << ' ' << k;
      const auto words = given[1].as<int64_t>().subspan((n * beams + k) * length, best[k].said.size());
      EXPECT_THAT(std::vector<int64_t>(words.begin(), words.end()), testing::ElementsAreArray(best[k].said)) << n << ' ' << k;
    }
  }
}

TEST(Gnmt, AnswersAreThoseOfAComputationOfItsOwn) {
  const Graph graph = seeded(",words=1");
  const Network net(graph);
  const std::array<Rows, 2> memory{encoded(net, sentence(0)), encoded(net, sentence(1))};
  expect_answers(evaluate(graph, inputs()), [&](size_t n, Beam& beam) { return stepped(net, memory[n], beam); });
}

TEST(Gnmt, ALoopAnswersAsTheStepsOneBehindAnother) {
  const auto unrolled = evaluate(seeded(",words=1"), inputs()), loop = evaluate(seeded(",words=1,form=loop"), inputs());
  for (size_t i = 0; i < static_cast<size_t>(2 * beams); ++i) EXPECT_FLOAT_EQ(loop[0].as<float>()[i], unrolled[0].as<float>()[i]);
  EXPECT_TRUE(std::ranges::equal(loop[1].as<int64_t>(), unrolled[1].as<int64_t>()));
}

Tensor floats(const Shape& shape, const Row& values) {
  Tensor tensor = make_tensor(DataType::f32, shape);
  std::transform(values.begin(), values.end(), writable<float>(tensor).begin(), [](double v) { return static_cast<float>(v); });
  return tensor;
}
Row row_of(const Tensor& tensor) { return {tensor.as<float>().begin(), tensor.as<float>().end()}; }

// Row `n` of a tensor of two sentences.
Tensor part_of(const Tensor& tensor, size_t n) {
  Shape shape = tensor.shape;
  shape[0] = 1;
  const auto size = static_cast<size_t>(element_count(shape));
  const auto values = tensor.as<float>().subspan(n * size, size);
  return floats(shape, {values.begin(), values.end()});
}

TEST(Gnmt, AHostThatDrivesEncoderAndStepGetsTheSame) {
  const Graph step = seeded(",form=step");
  const auto memory = evaluate(seeded(",form=encoder"), inputs());
  expect_answers(evaluate(seeded(",words=1"), inputs()), [&](size_t n, Beam& beam) {
    std::vector<Tensor> given{integers({1}, {beam.token})};
    for (size_t layer = 0; layer < 4; ++layer) {
      given.push_back(floats({1, hidden}, beam.h[layer]));
      given.push_back(floats({1, hidden}, beam.c[layer]));
    }
    given.push_back(floats({1, hidden}, beam.context));
    given.push_back(part_of(memory[0], n));
    given.push_back(part_of(memory[1], n));
    given.push_back(integers({1}, {lengths[n]}));
    const auto results = evaluate(step, given);
    for (size_t layer = 0; layer < 4; ++layer) {
      beam.h[layer] = row_of(results[1 + layer]);
      beam.c[layer] = row_of(results[5 + layer]);
    }
    beam.context = row_of(results[9]);
    return row_of(results[0]);
  });
}

// tensorflow/nmt's wmt16_gnmt_4_layer with 36,548 words, of which MLPerf's table says 210 million. A word in takes 46.1 million
// multiply-accumulates, a step of each of ten beams 88.8.
TEST(Gnmt, PublishedCounts) {
  ZooOptions options;
  for (const char* form : {"unrolled", "loop"})
    EXPECT_EQ(summarize(find_zoo_model(std::string("gnmt:form=") + form, options)->build(options)).parameters, 210'880'513) << form;
  const GraphSummary summary = summarize(find_zoo_model("gnmt", options)->build(options));
  EXPECT_NEAR(static_cast<double>(summary.macs_per_item) * 1e-9, 28 * (0.0461 + 10 * 0.0888), 0.2);
  const GraphSummary step = summarize(find_zoo_model("gnmt:form=step", options)->build(options));
  const GraphSummary encoder = summarize(find_zoo_model("gnmt:form=encoder", options)->build(options));
  EXPECT_EQ(step.parameters + encoder.parameters, 210'880'513);
}

TEST(Gnmt, OptionsThatItDoesNotTakeAreNamed) {
  ZooOptions options;
  for (const char* name : {"gnmt:form=other", "gnmt:length=0", "gnmt:beams=50,vocabulary=40", "gnmt:layers=8"}) {
    const auto model = find_zoo_model(name, options);
    EXPECT_THROW(model->build(options), Error) << name;
  }
}

}  // namespace
}  // namespace deepgap
