#include "backends/kserve/request_body.h"

#include "base/dump_json.h"
#include "base/number_type.h"
#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <type_traits>
#include <utility>

namespace deepgap {
namespace {

std::string quoted(const std::string& text) { return dump_ascii_line(nlohmann::json(text)); }

std::string head_of(const Port& input, const Shape& shape) {
  std::vector<std::string> sizes;
  for (const int64_t size : shape) sizes.push_back(std::to_string(size));
  return fmt::format(R"({{"name":{},"shape":[{}],"datatype":"{}")", quoted(input.name), join(sizes, ","), datatype_name(input.type));
}

std::string tail_of(const std::vector<Port>& outputs, bool binary) {
  std::string text = R"(],"outputs":[)";
  for (size_t i = 0; i < outputs.size(); ++i) {
    text += fmt::format(R"({}{{"name":{})", i == 0 ? "" : ",", quoted(outputs[i].name));
    text += binary ? R"(,"parameters":{"binary_data":true}})" : "}";
  }
  return text + "]}";
}

template <typename T>
std::string numbers(const TensorView& tensor) {
  std::string text;
  for (const T value : tensor.as<T>()) {
    if (!text.empty()) text += ',';
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value)) throw Error(ErrorKind::input, "a sample holds NaN or infinity, which JSON cannot say");
    }
    fmt::format_to(std::back_inserter(text), "{}", +value);  // a byte is a number too
  }
  return text;
}

std::string truths(const TensorView& tensor) {
  std::string text;
  for (const uint8_t value : tensor.as<uint8_t>()) text += std::string(text.empty() ? "" : ",") + (value != 0 ? "true" : "false");
  return text;
}

}  // namespace

std::string json_numbers(const TensorView& tensor) {
  if (tensor.type == DataType::boolean) return truths(tensor);
  return of_number(
      tensor.type, [&]<typename T>(T) { return numbers<T>(tensor); },
      [&]() -> std::string {
        throw Error(ErrorKind::refused, fmt::format("JSON has no {}: the server must take tensors as bytes", datatype_name(tensor.type)));
      });
}

RequestBody::RequestBody(std::vector<Port> inputs, std::vector<Port> outputs, bool binary, bool samples_change)
    : inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      binary_(binary),
      samples_change_(samples_change),
      staging_("kserve", inputs_) {}

void RequestBody::stage(std::span<const std::vector<TensorView>> samples) {
  staging_.stage(samples);
  texts_.clear();
  samples_.clear();
  if (binary_) return;
  samples_.assign(samples.begin(), samples.end());
  if (samples_change_) return;
  for (const std::vector<TensorView>& sample : samples_) {
    texts_.emplace_back();
    for (const TensorView& tensor : sample) texts_.back().push_back(json_numbers(tensor));
  }
}

const std::string& RequestBody::header(int64_t batch) {
  const auto found = headers_.find(batch);
  if (found != headers_.end()) return found->second;
  std::vector<Shape>& shapes = shapes_[batch] = input_shapes("kserve", "the model", inputs_, batch);
  std::string text = R"({"inputs":[)";
  for (size_t i = 0; i < inputs_.size(); ++i) {
    text += (i == 0 ? "" : ",") + head_of(inputs_[i], shapes[i]);
    text += fmt::format(R"(,"parameters":{{"binary_data_size":{}}}}})", bytes_of(inputs_[i].type, shapes[i]));
  }
  return headers_[batch] = text + tail_of(outputs_, true);
}

std::optional<size_t> RequestBody::write(std::span<const uint32_t> samples, std::string& body) {
  if (!binary_) {
    write_json(samples, body);
    return std::nullopt;
  }
  const auto batch = static_cast<int64_t>(samples.size());
  body = header(batch);
  const size_t json_bytes = body.size();
  const std::vector<Shape>& shapes = shapes_[batch];
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const size_t bytes = bytes_of(inputs_[i].type, shapes[i]), at = body.size();
    body.resize(at + bytes);
    staging_.gather(i, samples, batch, reinterpret_cast<std::byte*>(body.data()) + at, bytes);
  }
  return json_bytes;
}

void RequestBody::write_json(std::span<const uint32_t> samples, std::string& body) {
  const auto batch = static_cast<int64_t>(samples.size());
  if (!shapes_.contains(batch)) shapes_[batch] = input_shapes("kserve", "the model", inputs_, batch);
  const std::vector<Shape>& shapes = shapes_[batch];
  body = R"({"inputs":[)";
  for (size_t i = 0; i < inputs_.size(); ++i) {
    body += (i == 0 ? "" : ",") + head_of(inputs_[i], shapes[i]) + R"(,"data":[)";
    for (size_t s = 0; s < samples.size(); ++s) {
      if (s > 0) body += ',';
      body += texts_.empty() ? json_numbers(samples_.at(samples[s]).at(i)) : texts_.at(samples[s]).at(i);
    }
    body += "]}";
  }
  body += tail_of(outputs_, false);
}

}  // namespace deepgap
