// The samples a Session knows, and how a batch of them comes together in an input buffer.
#pragma once

#include "backends/common/port.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

// Refers to the samples' bytes. One thread.
class Staging {
 public:
  // `engine` begins the messages.
  Staging(std::string engine, std::vector<Port> inputs) : engine_(std::move(engine)), inputs_(std::move(inputs)) {}

  // Throws Error{input} for a sample that does not fit the inputs.
  void stage(std::span<const std::vector<TensorView>> samples);
  // Copies `samples` one behind the other along the batch to `to`, room for `bytes`; the last one fills what is left of it. Throws
  // Error{input} where they do not fit.
  void gather(size_t input, std::span<const uint32_t> samples, int64_t batch, std::byte* to, size_t bytes) const;
  // Where `samples` lie one behind another and are `batch` in number, the first one's bytes; else they are gathered to `to`, which is
  // returned. For engines that take inputs where they are.
  const std::byte* adjacent_or_gathered(size_t input, std::span<const uint32_t> samples, int64_t batch, std::byte* to, size_t bytes) const;

 private:
  const std::byte* at(size_t input, uint32_t sample) const;
  void expect_size(size_t input, int64_t batch, size_t bytes) const;
  void stage_tensor(size_t input, const TensorView& tensor);

  std::string engine_;
  std::vector<Port> inputs_;
  std::vector<const std::byte*> staged_;  // sample after sample, input after input
  std::vector<size_t> sample_bytes_;      // per input
};

}  // namespace deepgap
