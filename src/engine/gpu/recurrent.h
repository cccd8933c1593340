// The steps of LSTM, GRU and RNN in one kernel: a block takes some sequences of a batch and one direction, keeps their states in shared
// memory, and goes through the time. Its threads are units by slices of the state; sums are float32, and those of a sequence are added in
// the same order whatever the batch.
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
};

// The weights as the kernel reads them: [directions, ceil(hidden / lanes), gates * hidden, lanes], a vector of 16 bytes for each row and
// `lanes` places of the state.
int64_t recurrent_lanes(Element element);
Shape packed_recurrence(const RecurrentKernel& kernel, Element element);

// Returns nullopt if the state of one sequence is too large for a block. Roles: what is there, in the order of the struct.
std::optional<Launch> recurrent_kernel(Lowering& lowering, const std::string& stem, const RecurrentKernel& kernel);
std::vector<Operand> operands_read(const RecurrentKernel& kernel);
std::vector<Operand> operands_written(const RecurrentKernel& kernel);

}  // namespace deepgap::gpu
