// Reads Prometheus metrics by the names of Triton (docs.nvidia.com, Triton Inference Server, Metrics), vLLM, llama.cpp, SGLang and Text
// Generation Inference. Pure functions.
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
// The quantities of one reading; those that the server does not report are absent.
using ServerReading = std::map<ServerQuantity, double>;

// GPUs are numbered in the order in which the text first names them, which is the same in every text of one server. Several versions of the
// model are added up.
ServerReading read_metrics(std::string_view text, std::string_view model);

}  // namespace deepgap
