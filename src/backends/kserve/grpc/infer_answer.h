// The message of an answer to a request for inference, read: outputs as tensors, or what is wrong with it. Status OK makes no answer right.
#pragma once

#include "backends/common/port.h"
#include "backends/common/slot_buffer.h"
#include "backends/http/request_error.h"

#include <deepgap/tensor.h>

#include <kserve.pb.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace deepgap {

// Reads one answer after another. One thread at a time.
class InferAnswer {
 public:
  explicit InferAnswer(const std::vector<Port>& outputs) : ports_(outputs), outputs_(outputs.size()) {}

  // Reads `message`, which stays as it is while views() are used. Nothing is copied of bytes that lie aligned.
  std::optional<RequestError> read(const inference::ModelInferResponse& message, int64_t batch);
  std::span<const TensorView> views() const { return views_; }

 private:
  struct Output {
    Shape shape;
    const std::byte* data = nullptr;  // nullptr: it has not come
    std::unique_ptr<SlotBuffer> own;  // numbers that came one by one, and bytes that do not lie aligned
  };
  std::optional<RequestError> read_output(const inference::ModelInferResponse& message, int index, int64_t batch);

  const std::vector<Port>& ports_;
  std::vector<Output> outputs_;
  std::vector<TensorView> views_;
};

}  // namespace deepgap
