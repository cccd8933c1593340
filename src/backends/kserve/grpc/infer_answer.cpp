#include "backends/kserve/grpc/infer_answer.h"

#include "backends/kserve/output_check.h"
#include "backends/kserve/served_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

namespace deepgap {
namespace {

using Contents = inference::InferTensorContents;

// False: not as many as the tensor has, or one that its type does not hold (INT8 comes in 32 bits).
template <typename T, typename Numbers>
bool put(const Numbers& numbers, size_t count, std::byte* to) {
  if (static_cast<size_t>(numbers.size()) != count) return false;
  for (const auto number : numbers) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<decltype(number), const bool>)
      if (!std::in_range<T>(number)) return false;
    const auto value = static_cast<T>(number);
    std::memcpy(to, &value, sizeof(T));
    to += sizeof(T);
  }
  return true;
}

bool put(DataType type, const Contents& contents, size_t count, std::byte* to) {
  switch (type) {
    case DataType::f32:
      return put<float>(contents.fp32_contents(), count, to);
    case DataType::f64:
      return put<double>(contents.fp64_contents(), count, to);
    case DataType::i8:
      return put<int8_t>(contents.int_contents(), count, to);
    case DataType::i16:
      return put<int16_t>(contents.int_contents(), count, to);
    case DataType::i32:
      return put<int32_t>(contents.int_contents(), count, to);
    case DataType::i64:
      return put<int64_t>(contents.int64_contents(), count, to);
    case DataType::u8:
      return put<uint8_t>(contents.uint_contents(), count, to);
    case DataType::u16:
      return put<uint16_t>(contents.uint_contents(), count, to);
    case DataType::u32:
      return put<uint32_t>(contents.uint_contents(), count, to);
    case DataType::u64:
      return put<uint64_t>(contents.uint64_contents(), count, to);
    case DataType::boolean:
      return put<uint8_t>(contents.bool_contents(), count, to);
    default:
      return false;  // has no numbers of its own: comes as bytes
  }
}

size_t count_numbers(const Contents& contents) {
  return static_cast<size_t>(contents.bool_contents_size()) + static_cast<size_t>(contents.int_contents_size()) +
         static_cast<size_t>(contents.int64_contents_size()) + static_cast<size_t>(contents.uint_contents_size()) +
         static_cast<size_t>(contents.uint64_contents_size()) + static_cast<size_t>(contents.fp32_contents_size()) +
         static_cast<size_t>(contents.fp64_contents_size());
}

}  // namespace

std::optional<RequestError> InferAnswer::read(const inference::ModelInferResponse& message, int64_t batch) {
  views_.clear();
  for (Output& output : outputs_) output.data = nullptr;
  const int raw = message.raw_output_contents_size();
  if (raw > 0 && raw != message.outputs_size())
    return wrong_answer(fmt::format("{} outputs with the bytes of {}", message.outputs_size(), raw));
  for (int i = 0; i < message.outputs_size(); ++i)
    if (auto request_error = read_output(message, i, batch)) return request_error;
  for (size_t i = 0; i < ports_.size(); ++i) {
    if (outputs_[i].data == nullptr) return wrong_answer(fmt::format("output '{}' is missing", ports_[i].name));
    views_.push_back({ports_[i].type, outputs_[i].shape, outputs_[i].data});
  }
  return std::nullopt;
}

std::optional<RequestError> InferAnswer::read_output(const inference::ModelInferResponse& message, int index, int64_t batch) {
  const auto& described = message.outputs(index);
  const auto port = std::find_if(ports_.begin(), ports_.end(), [&](const Port& p) { return p.name == described.name(); });
  if (port == ports_.end()) return std::nullopt;
  Output& output = outputs_[static_cast<size_t>(port - ports_.begin())];
  if (output.data != nullptr) return wrong_answer(fmt::format("output '{}' twice", port->name));
  output.shape.assign(described.shape().begin(), described.shape().end());
  if (!possible_shape(output.shape)) return wrong_answer(fmt::format("output '{}' has no shape", port->name));
  if (auto request_error = check_output(*port, output.shape, described.datatype(), batch)) return request_error;
  const size_t wanted = bytes_of(port->type, output.shape);
  const bool in_bytes = message.raw_output_contents_size() > 0;
  if (in_bytes) {
    const std::string& bytes = message.raw_output_contents(index);
    if (bytes.size() != wanted)
      return wrong_answer(fmt::format("output '{}' has {} bytes, its shape asks for {}", port->name, bytes.size(), wanted));
    output.data = reinterpret_cast<const std::byte*>(bytes.data());
    if (reinterpret_cast<uintptr_t>(output.data) % byte_size(port->type) == 0) return std::nullopt;
  }
  const auto count = static_cast<size_t>(element_count(output.shape));
  // The check comes before memory is taken for them.
  if (!in_bytes && count_numbers(described.contents()) != count)
    return wrong_answer(fmt::format("output '{}' has not the numbers of its shape {}", port->name, shape_text(output.shape)));
  if (output.own == nullptr || output.own->bytes() < wanted) output.own = std::make_unique<SlotBuffer>(wanted);
  if (in_bytes) {
    std::memcpy(output.own->data(), output.data, wanted);
  } else if (!put(port->type, described.contents(), count, output.own->data())) {
    return wrong_answer(fmt::format("output '{}' has not the numbers of its datatype {}", port->name, datatype_name(port->type)));
  }
  output.data = output.own->data();
  return std::nullopt;
}

}  // namespace deepgap
