// The steps of LSTM, GRU and RNN. Small states: in one kernel, where a block takes some sequences of a batch and one direction, keeps their
// states in shared memory, and goes through the time. Its threads are units by slices of the state; sums are float32, and those of a
// sequence are added in the same order whatever the batch. Large states: a product and a kernel for each step, because a block alone would
// read all weights again in each step.
//
// Products with the input, of all steps and directions, are made before, by a product of their own (lower_recurrent.cpp).
#pragma once

#include "engine/gpu/generated.h"

#include <optional>
#include <string>
#include <vector>

namespace deepgap::gpu {

struct RecurrentKernel {
  enum class Cell { rnn, gru, lstm } cell = Cell::rnn;
  int64_t length = 1, batch = 1, hidden = 1, directions = 1;
  bool batch_first = false;
  bool starts_backwards = false;                      // direction 0 goes from the end
  bool couples_gates = false, resets_after = false;   // LSTM's input_forget, GRU's linear_before_reset
  std::vector<std::vector<std::string>> activations;  // by direction: expressions of x, clipped where they are to be; an LSTM's last is not

  Operand products;  // [length, batch] or [batch, length] as one axis, and directions * gates * hidden
  Operand weights;   // as recurrent_weights says
  std::optional<Operand> bias, lengths, state, cell_state, peepholes;  // as ONNX has them
  std::optional<Operand> outputs, last, last_cell;                     // likewise

  int64_t gates() const { return cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1; }
  bool resets_before() const { return cell == Cell::gru && !resets_after; }
};

// A kernel, and what it reads and writes in the order of its parameters.
struct RecurrentLaunch {
  Launch launch;
  std::vector<Operand> read, written;
};

// The weights as the kernel reads them: [directions, ceil(hidden / lanes), gates * hidden, lanes], a vector of 16 bytes for each row and
// `lanes` places of the state.
int64_t recurrent_lanes(Element element);
Shape packed_recurrence(const RecurrentKernel& kernel, Element element);

// All steps in one kernel. Returns nullopt if the state of one sequence is too large for a block.
std::optional<RecurrentLaunch> recurrent_kernel(const std::string& stem, const RecurrentKernel& kernel);

// One step of one direction, where the products with the state are made before, for the whole batch. States are [batch, hidden], and zero
// where they are not there.
struct RecurrentStep {
  int64_t direction = 0;
  Operand number;                                  // one int32: the step, from 0
  std::optional<Operand> sums, state, cell_state;  // sums: [batch, gates * hidden]
  Operand next;
  std::optional<Operand> next_cell;  // LSTMs have it
};

// Takes of `kernel` what is not of a single step. Not for a GRU that resets its state before the last product.
RecurrentLaunch recurrent_step(const std::string& stem, RecurrentKernel kernel, const RecurrentStep& step);

}  // namespace deepgap::gpu
