// LSTM, GRU and RNN. Products are the evaluator's (product.h); activations go through the C library in double precision (see
// eval_unary.cpp).
#include "model/eval/operator.h"
#include "model/eval/product.h"
#include "model/eval/widened.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace deepgap {

namespace {

using Floats = std::vector<float>;

// A function of one number with its settings.
struct Activation {
  std::string name;
  double alpha = 0, beta = 0;
  double clip = 0;  // limit for its argument; 0: none

  float operator()(float argument) const {
    double x = argument;
    if (clip > 0) x = std::clamp(x, -clip, clip);
    return static_cast<float>(value(x));
  }
  double value(double x) const {
    if (name == "Sigmoid") return 1 / (1 + std::exp(-x));
    if (name == "Tanh") return std::tanh(x);
    if (name == "Relu") return std::max(x, 0.0);
    if (name == "Affine") return alpha * x + beta;
    if (name == "LeakyRelu") return x < 0 ? alpha * x : x;
    if (name == "ThresholdedRelu") return x >= alpha ? x : 0;
    if (name == "ScaledTanh") return alpha * std::tanh(beta * x);
    if (name == "HardSigmoid") return std::clamp(alpha * x + beta, 0.0, 1.0);
    if (name == "Elu") return x < 0 ? alpha * (std::exp(x) - 1) : x;
    if (name == "Softsign") return x / (1 + std::abs(x));
    return std::log1p(std::exp(x));  // Softplus: activations_of knows no others
  }
};

struct Defaults {
  const char* name;
  double alpha, beta;
};
constexpr Defaults known_activations[] = {{"Sigmoid", 0, 0},      {"Tanh", 0, 0},
                                          {"Relu", 0, 0},         {"Affine", 1, 0},
                                          {"LeakyRelu", 0.01, 0}, {"ThresholdedRelu", 1, 0},
                                          {"ScaledTanh", 1, 1},   {"HardSigmoid", 0.2, 0.5},
                                          {"Elu", 1, 0},          {"Softsign", 0, 0},
                                          {"Softplus", 0, 0}};

template <typename T>
std::vector<T> list_of(const Call& call, const char* name) {
  const auto found = call.node.attributes.find(name);
  if (found == call.node.attributes.end()) return {};
  const auto* values = std::get_if<std::vector<T>>(&found->second);
  if (values == nullptr) call.fail(fmt::format("attribute '{}' is not a list of its type", name));
  return *values;
}

// Returns the activations of all directions, one after the other. alpha and beta go in order to the activations that have them.
std::vector<Activation> activations_of(const Call& call, const std::vector<std::string>& defaults, int64_t directions) {
  auto names = list_of<std::string>(call, "activations");
  if (names.empty())
    for (int64_t d = 0; d < directions; ++d) names.insert(names.end(), defaults.begin(), defaults.end());
  if (names.size() != defaults.size() * static_cast<size_t>(directions)) call.fail(fmt::format("{} activations are given", names.size()));
  const auto alphas = list_of<float>(call, "activation_alpha"), betas = list_of<float>(call, "activation_beta");
  std::vector<Activation> result;
  for (size_t i = 0; i < names.size(); ++i) {
    const auto* known = std::ranges::find_if(known_activations, [&](const Defaults& one) { return names[i] == one.name; });
    if (known == std::end(known_activations)) call.refuse(fmt::format("activation {} is not handled here", names[i]));
    result.push_back(
        {names[i], i < alphas.size() ? alphas[i] : known->alpha, i < betas.size() ? betas[i] : known->beta, call.float_of("clip", 0.0f)});
  }
  return result;
}

// result[column][row] = sum over k of weights[row][k] * x[column][k], plus the row's bias.
Floats project(const float* weights, int64_t rows, int64_t depth, const float* x, int64_t columns, const float* bias) {
  Floats result(static_cast<size_t>(rows * columns));
  multiply(
      {weights, rows, depth, depth, 1}, columns,
      [&](const ColumnPanel& panel) {
        for (int64_t n = 0; n < panel.count; ++n)
          for (int64_t k = panel.depth_begin; k < panel.depth_end; ++k) *panel.at(k, n) = x[(panel.column + n) * depth + k];
      },
      [&](int64_t row, int64_t column, int64_t count, const float* values) {
        for (int64_t i = 0; i < count; ++i) result[static_cast<size_t>((column + i) * rows + row)] = values[i] + bias[row];
      });
  return result;
}

// The state that passes from step to step: [batch][hidden].
struct State {
  Floats h, c;
};

// One direction: recurrence weights [gates * hidden][hidden] and what belongs to them.
struct Cell {
  int64_t gates, batch, hidden;
  const float* weights;
  const float* bias;       // [gates * hidden]
  const float* peepholes;  // [3 * hidden], or nullptr
  std::vector<Activation> activations;
  bool couples_gates = false, resets_after = false;

  // The products with h, biases included, of gates [first, last).
  Floats recurrence(const Floats& h, int64_t first, int64_t last) const {
    return project(weights + first * hidden * hidden, (last - first) * hidden, hidden, h.data(), batch, bias + first * hidden);
  }
};

// inputs[b]: the products with the input, biases included, [gates * hidden]; nullptr where the sequence has ended.
using Inputs = std::vector<const float*>;
using Step = void (*)(const Cell& cell, const Inputs& inputs, State& state);

void rnn_step(const Cell& cell, const Inputs& inputs, State& state) {
  const Floats products = cell.recurrence(state.h, 0, 1);
  for (size_t b = 0; b < inputs.size(); ++b) {
    if (inputs[b] == nullptr) continue;
    for (int64_t i = 0; i < cell.hidden; ++i) {
      const auto at = b * static_cast<size_t>(cell.hidden) + static_cast<size_t>(i);
      state.h[at] = cell.activations[0](inputs[b][i] + products[at]);
    }
  }
}

// Gates: input, output, forget, cell.
void lstm_step(const Cell& cell, const Inputs& inputs, State& state) {
  const int64_t hidden = cell.hidden;
  const Floats products = cell.recurrence(state.h, 0, 4);
  const Activation &f = cell.activations[0], &g = cell.activations[1], &h = cell.activations[2];
  for (size_t b = 0; b < inputs.size(); ++b) {
    if (inputs[b] == nullptr) continue;
    const float* product = products.data() + static_cast<int64_t>(b) * 4 * hidden;
    for (int64_t i = 0; i < hidden; ++i) {
      const auto sum = [&](int64_t gate) { return inputs[b][gate * hidden + i] + product[gate * hidden + i]; };
      const auto peephole = [&](int64_t gate, float c) { return cell.peepholes == nullptr ? 0.0f : cell.peepholes[gate * hidden + i] * c; };
      float& c = state.c[b * static_cast<size_t>(hidden) + static_cast<size_t>(i)];
      const float input = f(sum(0) + peephole(0, c));
      const float forget = cell.couples_gates ? 1 - input : f(sum(2) + peephole(2, c));
      c = forget * c + input * g(sum(3));
      state.h[b * static_cast<size_t>(hidden) + static_cast<size_t>(i)] =
          f(sum(1) + peephole(1, c)) * static_cast<float>(h.value(c));  // the cell's state is not clipped: so ONNX Runtime and OpenVINO
    }
  }
}

// Gates: update, reset, hidden.
void gru_step(const Cell& cell, const Inputs& inputs, State& state) {
  const int64_t hidden = cell.hidden;
  const Floats products = cell.recurrence(state.h, 0, cell.resets_after ? 3 : 2);
  const int64_t width = (cell.resets_after ? 3 : 2) * hidden;
  const Activation &f = cell.activations[0], &g = cell.activations[1];
  Floats reset(state.h.size()), update(state.h.size());
  const auto each = [&](auto visit) {
    for (size_t b = 0; b < inputs.size(); ++b)
      for (int64_t i = 0; inputs[b] != nullptr && i < hidden; ++i)
        visit(b, i, b * static_cast<size_t>(hidden) + static_cast<size_t>(i), products.data() + static_cast<int64_t>(b) * width);
  };
  each([&](size_t b, int64_t i, size_t at, const float* product) {
    update[at] = f(inputs[b][i] + product[i]);
    reset[at] = f(inputs[b][hidden + i] + product[hidden + i]);
    if (!cell.resets_after) reset[at] *= state.h[at];  // what the third product reads
  });
  const Floats last = cell.resets_after ? Floats{} : cell.recurrence(reset, 2, 3);
  each([&](size_t b, int64_t i, size_t at, const float* product) {
    const float recurrent = cell.resets_after ? reset[at] * product[2 * hidden + i] : last[at];
    const float candidate = g(inputs[b][2 * hidden + i] + recurrent);
    state.h[at] = (1 - update[at]) * candidate + update[at] * state.h[at];
  });
}

// Sizes and the optional inputs, checked.
struct Sequence {
  int64_t length, batch, size, directions, hidden;
  bool batch_first;
  std::vector<int64_t> lengths;  // by batch item

  // Places of an element of X, of Y, and of the states.
  int64_t input_at(int64_t t, int64_t b) const { return (batch_first ? b * length + t : t * batch + b) * size; }
  int64_t output_at(int64_t t, int64_t d, int64_t b) const {
    return (batch_first ? (b * length + t) * directions + d : (t * directions + d) * batch + b) * hidden;
  }
  int64_t state_at(int64_t d, int64_t b) const { return (batch_first ? b * directions + d : d * batch + b) * hidden; }
  Shape output_shape() const { return batch_first ? Shape{batch, length, directions, hidden} : Shape{length, directions, batch, hidden}; }
  Shape state_shape() const { return batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden}; }
};

void expect_shape(const Call& call, size_t input, const Shape& shape) {
  if (call.has(input) && call.input(input).shape != shape) call.fail(fmt::format("input {} does not have the shape of its weights", input));
  if (call.has(input)) call.expect(call.input(input), DataType::f32);
}

Sequence sequence_of(const Call& call, int64_t gates) {
  const Tensor &x = call.input(0), &w = call.input(1), &r = call.input(2);
  if (x.shape.size() != 3 || w.shape.size() != 3 || r.shape.size() != 3) call.fail("X, W and R do not have three dimensions");
  const bool batch_first = call.int_of("layout", 0) != 0;
  Sequence s{x.shape[batch_first ? 1 : 0], x.shape[batch_first ? 0 : 1], x.shape[2], w.shape[0], r.shape[2], batch_first, {}};
  if (s.directions != (call.text_of("direction", "forward") == "bidirectional" ? 2 : 1)) call.fail("W is not of its directions");
  call.expect(x, DataType::f32);
  expect_shape(call, 1, {s.directions, gates * s.hidden, s.size});
  expect_shape(call, 2, {s.directions, gates * s.hidden, s.hidden});
  expect_shape(call, 3, {s.directions, 2 * gates * s.hidden});
  expect_shape(call, 5, s.state_shape());
  expect_shape(call, 6, s.state_shape());
  expect_shape(call, 7, {s.directions, 3 * s.hidden});
  s.lengths = call.has(4) ? call.integers(4) : std::vector<int64_t>(static_cast<size_t>(s.batch), s.length);
  if (static_cast<int64_t>(s.lengths.size()) != s.batch) call.fail("sequence_lens does not have one length per batch item");
  for (const int64_t length : s.lengths)
    if (length < 0 || length > s.length) call.fail(fmt::format("a sequence of {} in a batch of length {}", length, s.length));
  return s;
}

Floats state_of(const Call& call, size_t input, const Sequence& s, int64_t direction) {
  Floats state(static_cast<size_t>(s.batch * s.hidden), 0.0f);
  if (!call.has(input)) return state;
  const auto from = call.input(input).as<float>();
  for (int64_t b = 0; b < s.batch; ++b) std::copy_n(from.data() + s.state_at(direction, b), s.hidden, state.data() + b * s.hidden);
  return state;
}

void run_direction(const Call& call, const Sequence& s, int64_t d, const Cell& cell, Step step, std::vector<Tensor>& results) {
  const int64_t width = cell.gates * s.hidden;
  const Floats none(static_cast<size_t>(width), 0.0f);
  const float* bias = call.has(3) ? call.input(3).as<float>().data() + d * 2 * width : none.data();
  const Floats inputs = project(call.input(1).as<float>().data() + d * width * s.size, width, s.size, call.input(0).as<float>().data(),
                                s.length * s.batch, bias);
  const bool backwards = d == 1 || call.text_of("direction", "forward") == "reverse";
  State state{state_of(call, 5, s, d), state_of(call, 6, s, d)};
  Inputs now(static_cast<size_t>(s.batch));
  for (int64_t i = 0; i < s.length; ++i) {
    const auto time = [&](int64_t b) { return backwards ? s.lengths[static_cast<size_t>(b)] - 1 - i : i; };
    const auto lasts = [&](int64_t b) { return i < s.lengths[static_cast<size_t>(b)]; };
    for (int64_t b = 0; b < s.batch; ++b)
      now[static_cast<size_t>(b)] = lasts(b) ? inputs.data() + s.input_at(time(b), b) / s.size * width : nullptr;
    step(cell, now, state);
    for (int64_t b = 0; b < s.batch; ++b)
      if (lasts(b)) std::copy_n(state.h.data() + b * s.hidden, s.hidden, writable<float>(results[0]).data() + s.output_at(time(b), d, b));
  }
  for (int64_t b = 0; b < s.batch; ++b)
    for (size_t k = 1; k < results.size(); ++k)
      std::copy_n((k == 1 ? state.h : state.c).data() + b * s.hidden, s.hidden, writable<float>(results[k]).data() + s.state_at(d, b));
}

std::vector<Tensor> recurrent(const Call& call, int64_t gates, Step step, const std::vector<std::string>& defaults, size_t outputs) {
  const Sequence s = sequence_of(call, gates);
  const auto activations = activations_of(call, defaults, s.directions);
  std::vector<Tensor> results{make_tensor(DataType::f32, s.output_shape())};
  while (results.size() < outputs) results.push_back(make_tensor(DataType::f32, s.state_shape()));
  std::ranges::fill(writable<float>(results[0]), 0.0f);  // behind the end of a sequence
  if (s.batch == 0 || s.hidden == 0) return results;
  const int64_t width = gates * s.hidden;
  const Floats none(static_cast<size_t>(width), 0.0f);
  for (int64_t d = 0; d < s.directions; ++d) {
    const auto first = activations.begin() + d * static_cast<int64_t>(defaults.size());
    const Cell cell{gates,
                    s.batch,
                    s.hidden,
                    call.input(2).as<float>().data() + d * width * s.hidden,
                    call.has(3) ? call.input(3).as<float>().data() + (d * 2 + 1) * width : none.data(),
                    call.has(7) ? call.input(7).as<float>().data() + d * 3 * s.hidden : nullptr,
                    {first, first + static_cast<int64_t>(defaults.size())},
                    call.int_of("input_forget", 0) != 0,
                    call.int_of("linear_before_reset", 0) != 0};
    run_direction(call, s, d, cell, step, results);
  }
  return results;
}

std::vector<Tensor> lstm(const Call& call) { return recurrent(call, 4, lstm_step, {"Sigmoid", "Tanh", "Tanh"}, 3); }
std::vector<Tensor> gru(const Call& call) { return recurrent(call, 3, gru_step, {"Sigmoid", "Tanh"}, 2); }
std::vector<Tensor> rnn(const Call& call) { return recurrent(call, 1, rnn_step, {"Tanh"}, 2); }

const bool registered[] = {
    add_operator("GRU", widened<gru>),
    add_operator("LSTM", widened<lstm>),
    add_operator("RNN", widened<rnn>),
};

}  // namespace

}  // namespace deepgap
