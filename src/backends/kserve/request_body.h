// The body of a request for inference: JSON, and behind it the tensors' bytes where the server takes them so.
#pragma once

#include "backends/common/staging.h"
#include "backends/kserve/served_model.h"

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

// One thread.
class RequestBody {
 public:
  // `samples_change`: staged bytes are read anew for each request; else what they are as text is made when they are staged.
  RequestBody(std::vector<Port> inputs, std::vector<Port> outputs, bool binary, bool samples_change);
  // Throws Error{input} for samples that do not fit the inputs.
  void stage(std::span<const std::vector<TensorView>> samples);
  // Replaces `body`. Returns the length of the JSON where tensors' bytes follow it. Throws Error{refused | input} where samples do not fit.
  std::optional<size_t> write(std::span<const uint32_t> samples, std::string& body);

 private:
  const std::string& header(int64_t batch);
  void write_json(std::span<const uint32_t> samples, std::string& body);

  std::vector<Port> inputs_, outputs_;
  bool binary_, samples_change_;
  Staging staging_;
  std::map<int64_t, std::string> headers_;        // headers of binary requests, by batch
  std::map<int64_t, std::vector<Shape>> shapes_;  // shapes of the inputs, by batch
  std::vector<std::vector<TensorView>> samples_;  // as JSON is made of them
  std::vector<std::vector<std::string>> texts_;   // beside them; empty where samples change
};

// Numbers as JSON writes them, joined by commas. Throws Error{refused} for types that it cannot (FP16, BF16).
std::string json_numbers(const TensorView& tensor);

}  // namespace deepgap
