// LSTM, GRU and RNN, written out step by step. What exporters write is run: activations as they are by default.
#include "backends/tensorflow/tf_operator.h"
#include "model/translated_nodes.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace deepgap {
namespace {

struct State {
  TfOutput h, c;  // [batch, hidden]
};

// The weights of one direction.
struct Weights {
  TfOutput input, recurrence;            // [size, gates * hidden] and [hidden, gates * hidden]
  TfOutput input_bias, recurrence_bias;  // [gates * hidden], or none
  bool resets_after = false;
};

struct Settings {
  State (*cell)(TfScope& s, TfOutput input, const State& state, const Weights& weights, int64_t hidden);
  bool batch_first, backwards, resets_after;  // backwards: the first direction
  int64_t gates, directions, hidden, steps, batch;
};

TfOutput project(TfScope& s, TfOutput x, TfOutput weights, TfOutput bias) {
  const TfOutput y = s.binary("MatMul", x, weights);
  return bias ? s.binary("BiasAdd", y, bias) : y;
}

TfOutput gate(TfScope& s, TfOutput all, int64_t number, int64_t hidden) { return s.slice(all, {0, number * hidden}, {-1, hidden}); }

State rnn_cell(TfScope& s, TfOutput input, const State& state, const Weights& weights, int64_t /*hidden*/) {
  return {s.unary("Tanh", s.binary("AddV2", input, project(s, state.h, weights.recurrence, weights.recurrence_bias))), state.c};
}

// Gates: input, output, forget, cell.
State lstm_cell(TfScope& s, TfOutput input, const State& state, const Weights& weights, int64_t hidden) {
  const TfOutput all = s.binary("AddV2", input, project(s, state.h, weights.recurrence, weights.recurrence_bias));
  const auto open = [&](int64_t number) { return s.unary("Sigmoid", gate(s, all, number, hidden)); };
  const TfOutput kept = s.binary("Mul", open(2), state.c);
  const TfOutput added = s.binary("Mul", open(0), s.unary("Tanh", gate(s, all, 3, hidden)));
  const TfOutput c = s.binary("AddV2", kept, added);
  return {s.binary("Mul", open(1), s.unary("Tanh", c)), c};
}

// Gates: update, reset, hidden.
State gru_cell(TfScope& s, TfOutput input, const State& state, const Weights& weights, int64_t hidden) {
  const auto product = [&](TfOutput h, int64_t number) {
    const TfOutput part = s.slice(weights.recurrence, {0, number * hidden}, {-1, hidden});
    const TfOutput bias = weights.recurrence_bias ? s.slice(weights.recurrence_bias, {number * hidden}, {hidden}) : TfOutput{};
    return project(s, h, part, bias);
  };
  const auto open = [&](int64_t number) {
    return s.unary("Sigmoid", s.binary("AddV2", gate(s, input, number, hidden), product(state.h, number)));
  };
  const TfOutput update = open(0), reset = open(1);
  const TfOutput last = weights.resets_after ? s.binary("Mul", reset, product(state.h, 2)) : product(s.binary("Mul", reset, state.h), 2);
  const TfOutput candidate = s.unary("Tanh", s.binary("AddV2", gate(s, input, 2, hidden), last));
  return {s.binary("AddV2", candidate, s.binary("Mul", update, s.binary("Sub", state.h, candidate))), state.c};
}

// Slice `number` along `axis`, without that axis.
TfOutput selected(TfScope& s, TfOutput x, int64_t number, int64_t axis) {
  return s.make("GatherV2").in(x).in(s.index(number)).in(s.index(axis)).out();
}
TfOutput stacked(TfScope& s, const std::vector<TfOutput>& parts, int64_t axis) {
  return s.make("Pack").in(parts).integer("axis", axis).out();
}

Weights weights_of(const TfCall& call, const Settings& with, int64_t direction) {
  TfScope& s = call.scope;
  const int64_t width = with.gates * with.hidden;
  Weights weights{.input = selected(s, call.in_order(1, {0, 2, 1}), direction, 0),
                  .recurrence = selected(s, call.in_order(2, {0, 2, 1}), direction, 0),
                  .resets_after = with.resets_after};
  if (!call.has(3)) return weights;
  const TfOutput biases = selected(s, call.in(3), direction, 0);
  weights.input_bias = s.slice(biases, {0}, {width});
  weights.recurrence_bias = s.slice(biases, {width}, {width});
  return weights;
}

TfOutput initial(const TfCall& call, size_t input, const Settings& with, int64_t direction) {
  TfScope& s = call.scope;
  if (call.has(input)) return selected(s, call.in(input), direction, with.batch_first ? 1 : 0);
  return s.binary("Fill", s.ints({with.batch, with.hidden}), s.number(call.tf_type_of(0), 0));
}

// `yes` where the sequence is longer than `time`, else `no`; of sequences of one length always `yes`.
TfOutput while_it_lasts(const TfCall& call, int64_t time, TfOutput yes, TfOutput no) {
  if (!yes || !call.has(4)) return yes;
  TfScope& s = call.scope;
  const TfOutput lasts = s.binary("Greater", call.in(4), s.number(call.tf_type_of(4), static_cast<double>(time)));
  return s.make("SelectV2").in(s.make("ExpandDims").in(lasts).in(s.index(1)).out()).in(yes).in(no).out();
}

// The outputs of all steps, and the last state. Backwards, a shorter sequence begins at its own end.
std::pair<std::vector<TfOutput>, State> run_direction(const TfCall& call, const Settings& with, int64_t direction) {
  TfScope& s = call.scope;
  const Weights weights = weights_of(call, with, direction);
  State state{initial(call, 5, with, direction), initial(call, 6, with, direction)};
  const bool backwards = with.backwards || direction == 1;
  std::vector<TfOutput> outputs(static_cast<size_t>(with.steps));
  for (int64_t i = 0; i < with.steps; ++i) {
    const int64_t time = backwards ? with.steps - 1 - i : i;
    const TfOutput x = selected(s, call.in(0), time, with.batch_first ? 1 : 0);
    const State next = with.cell(s, project(s, x, weights.input, weights.input_bias), state, weights, with.hidden);
    state = {while_it_lasts(call, time, next.h, state.h), while_it_lasts(call, time, next.c, state.c)};
    outputs[static_cast<size_t>(time)] = call.has(4) ? while_it_lasts(call, time, next.h, s.unary("ZerosLike", next.h)) : next.h;
  }
  return {outputs, state};
}

void run(const TfCall& call, const Settings& with) {
  TfScope& s = call.scope;
  std::vector<TfOutput> sequences, hs, cs;
  for (int64_t direction = 0; direction < with.directions; ++direction) {
    const auto [outputs, state] = run_direction(call, with, direction);
    sequences.push_back(stacked(s, outputs, with.batch_first ? 1 : 0));  // [sequence, batch, hidden] or [batch, sequence, hidden]
    hs.push_back(state.h);
    cs.push_back(state.c);
  }
  // [sequence, directions, batch, hidden] or [batch, sequence, directions, hidden].
  call.out(0, stacked(s, sequences, with.batch_first ? 2 : 1));
  const int64_t place = with.batch_first ? 1 : 0;  // axis of the directions in the states
  call.out(1, stacked(s, hs, place));
  if (call.node.outputs.size() > 2) call.out(2, stacked(s, cs, place));
}

void recurrent(const TfCall& call, decltype(Settings::cell) cell, int64_t gates, const std::vector<std::string>& defaults) {
  refuse_unusual_recurrence(call, defaults);
  const Shape x = call.shape(0), recurrence = call.shape(2);
  const bool batch_first = call.int_of("layout", 0) != 0;
  const int64_t steps = x.at(batch_first ? 1 : 0);
  if (steps == 0) call.refuse("a sequence of no steps");
  run(call, {.cell = cell,
             .batch_first = batch_first,
             .backwards = call.text_of("direction", "forward") == "reverse",
             .resets_after = call.int_of("linear_before_reset", 0) != 0,
             .gates = gates,
             .directions = recurrence.at(0),
             .hidden = recurrence.at(2),
             .steps = steps,
             .batch = x.at(batch_first ? 0 : 1)});
}

void lstm(const TfCall& call) { recurrent(call, lstm_cell, 4, {"Sigmoid", "Tanh", "Tanh"}); }
void gru(const TfCall& call) { recurrent(call, gru_cell, 3, {"Sigmoid", "Tanh"}); }
void rnn(const TfCall& call) { recurrent(call, rnn_cell, 1, {"Tanh"}); }

const bool registered[] = {
    add_tf_operator("GRU", gru),
    add_tf_operator("LSTM", lstm),
    add_tf_operator("RNN", rnn),
};

}  // namespace
}  // namespace deepgap
