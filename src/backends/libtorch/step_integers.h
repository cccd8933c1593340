// Whole numbers that an operator takes as an input: those of a constant, which are read at load, or those of a tensor on the host that the
// network computes while it runs, such as sizes that change from run to run.
#pragma once

#include "backends/libtorch/torch_operator.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace deepgap {

class StepIntegers {
 public:
  // Refuses what is not a constant where the network runs on a GPU: a step would wait for it.
  StepIntegers(const TorchCall& call, size_t input);
  // Those of an attribute, or of an input that may be left out.
  explicit StepIntegers(std::vector<int64_t> known) : known_(std::move(known)) {}

  const std::optional<std::vector<int64_t>>& known() const { return known_; }
  std::vector<int64_t> of(const TorchFrame& frame) const;

 private:
  size_t input_ = 0;
  std::optional<std::vector<int64_t>> known_;
};

// The attribute of older opsets, or the input of newer ones, or `fallback`.
StepIntegers step_integers(const TorchCall& call, const char* attribute, size_t input, const std::vector<int64_t>& fallback);

}  // namespace deepgap
