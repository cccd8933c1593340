// Counts from the Graph what a step of training launches, kernel by kernel: for predicting times and memory where nothing ran.
//
// An engine that trains keeps what gradients are computed from, so operators do not join as in inference (kernel_work.h): each is a
// kernel of the forward pass, and has one kernel of the backward pass for each gradient that it must give, as train_work.h counts them.
// The update is one kernel. Kept until the backward pass are the operands of products, the inputs of normalisations and curved functions,
// and the results from which other derivatives are computed; a value with several uses is kept once.
//
// In 16 bits engines leave some values in float32 (PyTorch's autocast): inputs, what normalisations and exponentials make, and what is made
// from such a value or from a weight by anything but a product. A product reads its operands, weights too, in 16 bits: where one is wide a
// copy of it is made first, and kept.
#pragma once

#include "model/kernel_work.h"

#include <deepgap/train.h>

namespace deepgap {

struct StepKernel {
  enum class Pass { forward, backward, update };
  Pass pass = Pass::forward;
  KernelWork work;               // work for one item; its activations in the precision's numbers
  int64_t wide_activations = 0;  // those that are float32 in every precision
  int64_t fixed_bytes = 0;       // whatever the batch and the precision: the update's, in float32
  bool only_in_16_bits = false;  // a copy from or to float32
};

struct StepWork {
  std::vector<StepKernel> kernels;
  int64_t inputs = 0;                // elements of one item
  int64_t kept_activations = 0;      // likewise: what the forward pass leaves for the backward pass, in the precision's numbers
  int64_t kept_wide = 0;             // ... in float32 in every precision
  int64_t kept_copies = 0;           // ... in 16 bits alone, two bytes each
  int64_t kept_only_in_32_bits = 0;  // ... in float32 alone: of which 16 bits keep a copy
  int64_t copied_weights = 0;        // elements, whatever the batch: weights of products, of which 16 bits keep a copy
  int64_t weight_bytes = 0;          // bytes of the weights in float32, with running statistics
  int64_t gradient_bytes = 0, optimizer_bytes = 0;
};

// Throws Error{usage} where sizes other than the batch are open.
StepWork step_work(const Graph& graph, const TrainSettings& settings);

}  // namespace deepgap
