// What the conformance suite's recurrent layers leave out: states, lengths, peepholes, coupled gates, sequences first, other activations.
#include "trial.h"

#include "../conformance/graph_builder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace deepgap::gpu {
namespace {

using namespace deepgap::conformance;
using Names = std::vector<std::string>;

constexpr int64_t steps = 4, size = 3;

ValueId lengths(GraphBuilder& net, const std::vector<int32_t>& values) {
  Tensor tensor = make_tensor(DataType::i32, {static_cast<int64_t>(values.size())});
  std::memcpy(writable<int32_t>(tensor).data(), values.data(), tensor.bytes());
  return net.constant(std::move(tensor));
}

struct Layer {
  std::string op;
  int64_t gates, directions;
  Attributes attributes;
  bool has_states = false, has_lengths = false, has_peepholes = false, computed = false;
  int64_t hidden = 5;
};

// All results, sequences first.
Graph network(GraphBuilder& net, const Layer& layer) {
  const int64_t d = layer.directions, hidden = layer.hidden, rows = layer.gates * hidden;
  const auto first = layer.attributes.find("layout");
  const bool batch_first = first != layer.attributes.end() && std::get<int64_t>(first->second) != 0;
  ValueId x = net.input({steps, size});
  if (!batch_first) x = net.node("Transpose", {x}, {{"perm", std::vector<int64_t>{1, 0, 2}}});
  const Shape state = batch_first ? Shape{Trial::batch, d, hidden} : Shape{d, Trial::batch, hidden};
  const float amplitude = 1.0F / std::sqrt(static_cast<float>(hidden));  // as layers begin to learn with
  ValueId r = net.floats({d, rows, hidden}, -amplitude, amplitude);
  if (layer.computed) r = net.node("Add", {r, net.node("ReduceMean", {net.input({1})}, {{"keepdims", int64_t{0}}})});
  std::vector<ValueId> inputs{x, net.floats({d, rows, size}), r, net.floats({d, 2 * rows}), no_value};
  if (layer.has_lengths) inputs[4] = lengths(net, {4, 1, 3});
  if (layer.has_states) inputs.push_back(net.floats(state));
  if (layer.has_states && layer.op == "LSTM") inputs.push_back(net.floats(state));
  if (layer.has_peepholes) inputs.push_back(net.floats({d, 3 * hidden}));
  Attributes attributes = layer.attributes;
  attributes["hidden_size"] = hidden;
  const auto results = net.nodes(layer.op, inputs, layer.op == "LSTM" ? 3 : 2, attributes);
  if (batch_first) return net.finish(results);
  std::vector<ValueId> outputs{net.node("Transpose", {results[0]}, {{"perm", std::vector<int64_t>{2, 0, 1, 3}}})};
  for (size_t i = 1; i < results.size(); ++i)
    outputs.push_back(net.node("Transpose", {results[i]}, {{"perm", std::vector<int64_t>{1, 0, 2}}}));
  return net.finish(outputs);
}

std::vector<Layer> layers() {
  const Attributes both{{"direction", std::string("bidirectional")}}, back{{"direction", std::string("reverse")}};
  return {
      {"LSTM", 4, 2, both, true, true, true},
      {"LSTM", 4, 1, {{"input_forget", int64_t{1}}, {"clip", 0.4F}}, true, false, true},
      {"LSTM", 4, 1, {{"activations", Names{"HardSigmoid", "Softsign", "ScaledTanh"}}}},
      {"LSTM", 4, 1, {{"layout", int64_t{1}}}, true},
      {"GRU", 3, 2, both, true, true},
      {"GRU", 3, 1, {{"linear_before_reset", int64_t{1}}, {"direction", std::string("reverse")}}, true, true},
      {"GRU", 3, 1, {{"layout", int64_t{1}}, {"activations", Names{"Sigmoid", "Elu"}}}, true, false, false, true},
      {"RNN", 1, 1, back, true, true},
      {"RNN", 1, 2, {{"direction", std::string("bidirectional")}, {"activations", Names{"Relu", "LeakyRelu"}}}},
      {"RNN", 1, 1, {{"activations", Names{"Affine"}}, {"activation_alpha", std::vector<float>{0.5F}}}},
  };
}

// States so large that each step has a product and a kernel of its own.
std::vector<Layer> large_layers() {
  const Attributes both{{"direction", std::string("bidirectional")}}, first{{"layout", int64_t{1}}};
  return {
      {"LSTM", 4, 2, both, true, true, true, false, 256},
      {"LSTM", 4, 1, {{"direction", std::string("reverse")}, {"input_forget", int64_t{1}}}, false, true, false, false, 256},
      {"LSTM", 4, 1, first, true, false, false, false, 256},
      {"GRU", 3, 1, {{"linear_before_reset", int64_t{1}}, {"layout", int64_t{1}}}, true, true, false, false, 256},
      {"RNN", 1, 2, both, false, true, false, false, 256},
  };
}

void try_layers(const std::vector<Layer>& all, const GpuNumbers& numbers, const std::string& precision) {
  Trial trial({numbers, Integers::as_operators}, precision);
  for (size_t i = 0; i < all.size(); ++i) {
    Random random(seed() + i);
    GraphBuilder net(random, 17);
    Graph graph = network(net, all[i]);
    Samples samples = random_samples(random, graph, Trial::batch);
    trial.add(all[i].op + " " + std::to_string(i), std::move(graph), std::move(samples));
  }
  trial.run(within_tolerance(precision));
  EXPECT_EQ(trial.computed(), all.size());
}

TEST(EmulatedRecurrent, Float32) { try_layers(layers(), {ComputeType::f32, Element::f32}, "fp32"); }
TEST(EmulatedRecurrent, Float16) { try_layers(layers(), {ComputeType::f16, Element::f16}, "fp16"); }
TEST(EmulatedRecurrent, LargeStatesInFloat32) { try_layers(large_layers(), {ComputeType::f32, Element::f32}, "fp32"); }
TEST(EmulatedRecurrent, LargeStatesInFloat16) { try_layers(large_layers(), {ComputeType::f16, Element::f16}, "fp16"); }

}  // namespace
}  // namespace deepgap::gpu
