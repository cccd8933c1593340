// What a text of Prometheus metrics tells, by the names of Triton (docs.nvidia.com, Triton Inference Server, Metrics), vLLM, llama.cpp,
// SGLang and Text Generation Inference. Pure functions.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace deepgap {

// A quantity as a Series has it: "power.gpu0", "pending_requests".
struct ServerQuantity {
  std::string name, unit;
  bool counter = false;
  auto operator<=>(const ServerQuantity&) const = default;
};
// What one reading told; what it did not is not there.
using ServerReading = std::map<ServerQuantity, double>;

// GPUs are numbered in the order in which the text first names them, which is the same in every text of one server. Of several versions of
// the model the sum is told.
ServerReading read_metrics(std::string_view text, std::string_view model);

}  // namespace deepgap
