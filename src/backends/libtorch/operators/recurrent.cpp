// LSTM, GRU and RNN, step by step: ATen's own order the gates and place the biases otherwise, and take no sequence at once backwards.
// What exporters write is run: activations as they are by default, sequences that are all as long.
#include "backends/libtorch/torch_operator.h"
#include "model/translated_nodes.h"

#include <ATen/ops/add.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>

#include <fmt/format.h>

#include <string>
#include <vector>

namespace deepgap {
namespace {

struct State {
  at::Tensor h, c;  // [batch, hidden]
};
struct Weights {
  at::Tensor recurrence, bias;  // [gates * hidden, hidden] and [gates * hidden], or undefined
  bool resets_after = false;
};

at::Tensor project(const at::Tensor& x, const at::Tensor& weights, const at::Tensor& bias) {
  return bias.defined() ? at::linear(x, weights, bias) : at::linear(x, weights);
}

// One step; `input` are the products with the input, [batch, gates * hidden].
using Cell = State (*)(const at::Tensor& input, const State& state, const Weights& weights);

State rnn_cell(const at::Tensor& input, const State& state, const Weights& weights) {
  return {at::tanh(at::add(input, project(state.h, weights.recurrence, weights.bias))), state.c};
}

// Gates: input, output, forget, cell.
State lstm_cell(const at::Tensor& input, const State& state, const Weights& weights) {
  const auto gates = at::add(input, project(state.h, weights.recurrence, weights.bias)).chunk(4, 1);
  const at::Tensor c = at::add(at::mul(at::sigmoid(gates[2]), state.c), at::mul(at::sigmoid(gates[0]), at::tanh(gates[3])));
  return {at::mul(at::sigmoid(gates[1]), at::tanh(c)), c};
}

// Gates: update, reset, hidden.
State gru_cell(const at::Tensor& input, const State& state, const Weights& weights) {
  const auto inputs = input.chunk(3, 1), recurrence = weights.recurrence.chunk(3, 0);
  const auto biases = weights.bias.defined() ? weights.bias.chunk(3, 0) : std::vector<at::Tensor>(3);
  const auto product = [&](const at::Tensor& h, size_t gate) { return project(h, recurrence[gate], biases[gate]); };
  const at::Tensor update = at::sigmoid(at::add(inputs[0], product(state.h, 0)));
  const at::Tensor reset = at::sigmoid(at::add(inputs[1], product(state.h, 1)));
  const at::Tensor last = weights.resets_after ? at::mul(reset, product(state.h, 2)) : product(at::mul(reset, state.h), 2);
  const at::Tensor candidate = at::tanh(at::add(inputs[2], last));
  return {at::add(candidate, at::mul(update, at::sub(state.h, candidate))), state.c};
}

struct Settings {
  Cell cell;
  bool batch_first, backwards, resets_after;  // backwards: the first direction
  int64_t gates, directions, hidden;
};

at::Tensor initial(const TorchFrame& frame, size_t input, const Settings& s, int64_t direction, const at::Tensor& x) {
  if (input < frame.inputs() && frame.in(input).defined()) return frame.in(input).select(s.batch_first ? 1 : 0, direction);
  return at::zeros({x.size(1), s.hidden}, x.options());
}

// x: [sequence, batch, size]. The outputs of all steps, and the last state.
std::pair<at::Tensor, State> run_direction(const TorchFrame& frame, const Settings& s, int64_t direction, const at::Tensor& x) {
  const bool biased = frame.inputs() > 3 && frame.in(3).defined();
  const int64_t width = s.gates * s.hidden;
  const at::Tensor biases = biased ? frame.in(3).select(0, direction) : at::Tensor();
  const Weights weights{frame.in(2).select(0, direction), biased ? biases.narrow(0, width, width) : at::Tensor(), s.resets_after};
  const at::Tensor inputs = project(x, frame.in(1).select(0, direction), biased ? biases.narrow(0, 0, width) : at::Tensor());
  State state{initial(frame, 5, s, direction, x), initial(frame, 6, s, direction, x)};
  const bool backwards = s.backwards || direction == 1;
  std::vector<at::Tensor> outputs(static_cast<size_t>(x.size(0)));
  for (int64_t i = 0; i < x.size(0); ++i) {
    const int64_t time = backwards ? x.size(0) - 1 - i : i;
    state = s.cell(inputs.select(0, time), state, weights);
    outputs[static_cast<size_t>(time)] = state.h;
  }
  return {at::stack(outputs), state};
}

void run(TorchFrame& frame, const Settings& s) {
  const at::Tensor x = s.batch_first ? frame.in(0).transpose(0, 1) : frame.in(0);
  std::vector<at::Tensor> outputs, hs, cs;
  for (int64_t direction = 0; direction < s.directions; ++direction) {
    auto [output, state] = run_direction(frame, s, direction, x);
    outputs.push_back(std::move(output));
    hs.push_back(state.h);
    cs.push_back(state.c);
  }
  const int64_t place = s.batch_first ? 1 : 0;  // axis of the directions in the states
  // [sequence, batch, hidden] of each direction to [sequence, directions, batch, hidden] or [batch, sequence, directions, hidden].
  frame.out(0) = s.batch_first ? at::stack(outputs, 2).transpose(0, 1) : at::stack(outputs, 1);
  if (frame.outputs() > 1) frame.out(1) = at::stack(hs, place);
  if (frame.outputs() > 2) frame.out(2) = at::stack(cs, place);
}

TorchStep recurrent(const TorchCall& call, Cell cell, int64_t gates, const std::vector<std::string>& defaults) {
  if (call.has(4)) call.refuse("sequence_lens is not run");
  refuse_unusual_recurrence(call, defaults);
  const std::string direction = call.text_of("direction", "forward");
  const Shape weights = call.shape(2);
  if (call.shape(0).at(call.int_of("layout", 0) != 0 ? 1 : 0) == 0) call.refuse("a sequence of no steps");
  const Settings settings{
      cell,         call.int_of("layout", 0) != 0, direction == "reverse", call.int_of("linear_before_reset", 0) != 0, gates, weights.at(0),
      weights.at(2)};
  return [settings](TorchFrame& frame) { run(frame, settings); };
}

TorchStep lstm(const TorchCall& call) { return recurrent(call, lstm_cell, 4, {"Sigmoid", "Tanh", "Tanh"}); }
TorchStep gru(const TorchCall& call) { return recurrent(call, gru_cell, 3, {"Sigmoid", "Tanh"}); }
TorchStep rnn(const TorchCall& call) { return recurrent(call, rnn_cell, 1, {"Tanh"}); }

const bool registered[] = {
    add_torch_operator("GRU", gru),
    add_torch_operator("LSTM", lstm),
    add_torch_operator("RNN", rnn),
};

}  // namespace
}  // namespace deepgap
