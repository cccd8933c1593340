// The answer to a request for inference, read: outputs as tensors, or what is wrong with it. 200 alone makes no answer right.
#pragma once

#include "backends/common/port.h"
#include "backends/common/slot_buffer.h"
#include "backends/http/request_error.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap {

// Outputs of one request after another, of the model's outputs in their order. One thread at a time.
class ServerAnswer {
 public:
  explicit ServerAnswer(const std::vector<Port>& outputs) : ports_(outputs), outputs_(outputs.size()) {}

  // `tensors`: the bytes behind the JSON, which stay where they are while views() are used; of an answer all in JSON `binary` is false.
  // Nothing is copied of bytes that lie aligned. The same JSON as before, as most servers send, is not parsed again.
  std::optional<RequestError> read(std::string_view json, std::string_view tensors, bool binary, int64_t batch);
  std::span<const TensorView> views() const { return views_; }

 private:
  struct Output {
    Shape shape;
    bool in_bytes = false;  // behind the JSON, from `begin`; else numbers in the JSON
    size_t begin = 0;
    std::unique_ptr<SlotBuffer> own;  // numbers, and bytes that do not lie aligned
  };
  std::optional<RequestError> read_layout(std::string_view json, int64_t batch);
  std::optional<RequestError> read_output(const nlohmann::json& output, const Port& port, int64_t batch, Output& own);
  std::optional<RequestError> read_numbers(const nlohmann::json& output, const Port& port, Output& own);
  static void make_room(Output& output, size_t bytes);
  std::optional<RequestError> place(std::string_view tensors);

  const std::vector<Port>& ports_;
  std::vector<Output> outputs_;
  std::vector<TensorView> views_;
  std::string known_json_;  // that outputs_ were read from
  int64_t known_batch_ = -1;
  size_t all_bytes_ = 0;  // that the layout asks for
};

}  // namespace deepgap
