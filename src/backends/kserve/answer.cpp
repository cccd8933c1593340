#include "backends/kserve/answer.h"

#include "backends/kserve/output_check.h"
#include "base/number_type.h"
#include "base/parse_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace deepgap {
namespace {

using json = nlohmann::json;

constexpr size_t most_bytes = size_t{1} << 40;

// Returns the size of an output whose tensor's bytes stand behind the JSON.
std::optional<size_t> declared_bytes(const json& output) {
  const auto parameters = output.find("parameters");
  if (parameters == output.end() || !parameters->is_object()) return std::nullopt;
  const auto bytes = parameters->find("binary_data_size");
  if (bytes == parameters->end() || !bytes->is_number_unsigned()) return std::nullopt;
  return bytes->get<size_t>();
}

std::optional<Shape> shape_of(const json& output) {
  const auto found = output.find("shape");
  if (found == output.end() || !found->is_array()) return std::nullopt;
  Shape shape;
  for (const json& size : *found) {
    if (!size.is_number_integer()) return std::nullopt;
    shape.push_back(size.get<int64_t>());
  }
  return possible_shape(shape) ? std::optional(shape) : std::nullopt;
}

// Whether the type holds the number: a server may send 1e300 for an INT8.
template <typename T>
bool holds(const json& value) {
  if constexpr (std::is_floating_point_v<T>) {
    return true;
  } else {
    if (value.is_number_unsigned()) return std::in_range<T>(value.get<uint64_t>());
    if (value.is_number_integer()) return std::in_range<T>(value.get<int64_t>());
    const auto number = value.get<double>();
    const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
    return number < end && number >= (std::is_signed_v<T> ? -end : 0.0);
  }
}

template <typename T>
bool put(const json& value, std::byte* to) {
  T number;
  if (value.is_boolean()) {
    number = static_cast<T>(value.get<bool>() ? 1 : 0);
  } else if (value.is_number() && holds<T>(value)) {
    number = value.get<T>();
  } else if (value.is_null() && std::numeric_limits<T>::has_quiet_NaN) {  // how some write NaN
    number = std::numeric_limits<T>::quiet_NaN();
  } else {
    return false;
  }
  std::memcpy(to, &number, sizeof(T));
  return true;
}

bool put(DataType type, const json& value, std::byte* to) {
  const DataType stored = type == DataType::boolean ? DataType::u8 : type;
  return of_number(
      stored, [&]<typename T>(T) { return put<T>(value, to); }, [] { return false; });
}

size_t count_numbers(const json& data, int depth = 0) {
  size_t count = 0;
  for (const json& value : data) count += value.is_array() && depth < 16 ? count_numbers(value, depth + 1) : 1;
  return count;
}

// Lists in lists are taken as one, row by row.
bool flatten(DataType type, const json& data, std::byte* to, size_t room, size_t& count, int depth = 0) {
  for (const json& value : data) {
    if (value.is_array()) {
      if (depth >= 16 || !flatten(type, value, to, room, count, depth + 1)) return false;
    } else {
      if (count == room || !put(type, value, to + count * byte_size(type))) return false;
      ++count;
    }
  }
  return true;
}

}  // namespace

std::optional<RequestError> ServerAnswer::read(std::string_view text, std::string_view tensors, bool binary, int64_t batch) {
  views_.clear();
  if (!binary || batch != known_batch_ || text != known_json_) {
    known_batch_ = -1;
    if (auto request_error = read_layout(text, batch)) return request_error;
    const bool all_in_bytes = std::all_of(outputs_.begin(), outputs_.end(), [](const Output& output) { return output.in_bytes; });
    if (binary && all_in_bytes) {
      known_json_ = text;
      known_batch_ = batch;
    }
  }
  return place(tensors);
}

std::optional<RequestError> ServerAnswer::read_layout(std::string_view text, int64_t batch) {
  if (text.starts_with('<')) return wrong_answer("answered 200 with a page (HTML or XML) instead of tensors");
  const json answer = parse_json(text);
  if (answer.is_discarded() && text.starts_with('{')) {
    const bool nan = text.find("NaN") != std::string_view::npos || text.find("Infinity") != std::string_view::npos;
    return wrong_answer(std::string("answered 200 with JSON that is not valid") + (nan ? ": JSON has no NaN or Infinity" : ""));
  }
  if (!answer.is_object() || !answer.contains("outputs") || !answer["outputs"].is_array())
    return wrong_answer("answered 200 without outputs: no answer of KServe v2");
  all_bytes_ = 0;
  std::vector<bool> found(ports_.size());
  for (const json& output : answer["outputs"]) {
    if (!output.is_object() || !output.contains("name") || !output["name"].is_string()) return wrong_answer("an output without a name");
    const size_t bytes = declared_bytes(output).value_or(0);
    const auto name = output["name"].get<std::string>();
    const auto port = std::find_if(ports_.begin(), ports_.end(), [&](const Port& p) { return p.name == name; });
    if (port != ports_.end()) {
      const auto at = static_cast<size_t>(port - ports_.begin());
      if (found[at]) return wrong_answer(fmt::format("output '{}' twice", name));
      if (auto request_error = read_output(output, *port, batch, outputs_[at])) return request_error;
      found[at] = true;
    }
    if (bytes > most_bytes - all_bytes_) return wrong_answer("an output of more bytes than there can be");
    all_bytes_ += bytes;
  }
  const auto missing = std::find(found.begin(), found.end(), false);
  if (missing == found.end()) return std::nullopt;
  return wrong_answer(fmt::format("output '{}' is missing", ports_[static_cast<size_t>(missing - found.begin())].name));
}

std::optional<RequestError> ServerAnswer::read_output(const json& output, const Port& port, int64_t batch, Output& own) {
  const auto shape = shape_of(output);
  if (!shape) return wrong_answer(fmt::format("output '{}' has no shape", port.name));
  const auto type = output.find("datatype");
  const std::string declared_type = type == output.end() ? "" : type->is_string() ? type->get<std::string>() : type->dump();
  if (auto request_error = check_output(port, *shape, declared_type, batch)) return request_error;
  own.shape = *shape;
  const auto declared = declared_bytes(output);
  own.in_bytes = declared.has_value();
  if (!declared) return read_numbers(output, port, own);
  own.begin = all_bytes_;
  const size_t wanted = bytes_of(port.type, own.shape);
  if (*declared == wanted) return std::nullopt;
  return wrong_answer(fmt::format("output '{}' has {} bytes, its shape asks for {}", port.name, *declared, wanted));
}

std::optional<RequestError> ServerAnswer::read_numbers(const json& output, const Port& port, Output& own) {
  const auto data = output.find("data");
  if (data == output.end() || !data->is_array() || data->empty()) return wrong_answer(fmt::format("output '{}' has no data", port.name));
  const auto room = static_cast<size_t>(element_count(own.shape));
  size_t count = 0;
  if (count_numbers(*data) == room) {
    make_room(own, bytes_of(port.type, own.shape));
    if (flatten(port.type, *data, own.own->data(), room, count) && count == room) return std::nullopt;
  }
  return wrong_answer(fmt::format("output '{}' has not the numbers of its shape {}", port.name, shape_text(own.shape)));
}

void ServerAnswer::make_room(Output& output, size_t bytes) {
  if (output.own == nullptr || output.own->bytes() < bytes) output.own = std::make_unique<SlotBuffer>(bytes);
}

std::optional<RequestError> ServerAnswer::place(std::string_view tensors) {
  if (tensors.size() != all_bytes_)
    return wrong_answer(fmt::format("{} bytes of tensors, but the answer announces {}", tensors.size(), all_bytes_));
  for (size_t i = 0; i < ports_.size(); ++i) {
    Output& output = outputs_[i];
    const auto* data = reinterpret_cast<const std::byte*>(tensors.data()) + output.begin;
    if (output.in_bytes && reinterpret_cast<uintptr_t>(data) % byte_size(ports_[i].type) != 0) {
      const size_t bytes = bytes_of(ports_[i].type, output.shape);
      make_room(output, bytes);
      std::memcpy(output.own->data(), data, bytes);
      data = output.own->data();
    }
    views_.push_back({ports_[i].type, output.shape, output.in_bytes ? data : output.own->data()});
  }
  return std::nullopt;
}

}  // namespace deepgap
