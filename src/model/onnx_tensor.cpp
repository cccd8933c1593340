#include "model/onnx_tensor.h"

#include "base/text.h"
#include "model/checked.h"
#include "model/onnx_types.h"
#include "model/packed_weights.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

namespace deepgap {
namespace {

// A TensorProto as it stands in the file.
struct TensorFields {
  std::string_view name;
  std::vector<int64_t> dims;
  int64_t type = 0;
  std::optional<std::span<const std::byte>> raw;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<int64_t> int32s, int64s, uint64s;
  bool has_strings = false, has_segment = false;
  std::map<std::string, std::string, std::less<>> external;
  bool is_external = false;
};

[[noreturn]] void fail(const TensorFields& fields, std::string_view cause) {
  throw Error(ErrorKind::input, fmt::format("tensor '{}': {}", fields.name, cause));
}

void read_entry(WireReader entry, TensorFields& fields) {
  std::string key, value;
  while (entry.next()) {
    if (entry.field() == 1) key = entry.text();
    if (entry.field() == 2) value = entry.text();
  }
  fields.external[key] = value;
}

void read_location(const WireReader& reader, TensorFields& fields) {
  if (reader.integer() != 0 && reader.integer() != 1) reader.fail(fmt::format("data_location {} does not exist", reader.integer()));
  fields.is_external = reader.integer() == 1;
}

TensorFields read_fields(WireReader& reader) {
  TensorFields fields;
  while (reader.next()) {
    switch (reader.field()) {
      case 1:
        reader.append_integers(fields.dims);
        if (fields.dims.size() > 64) reader.fail("a tensor has more than 64 dimensions");
        break;
      case 2:
        fields.type = reader.integer();
        break;
      case 3:
        fields.has_segment = true;
        break;
      case 4:
        reader.append_floats(fields.floats);
        break;
      case 5:
        reader.append_integers(fields.int32s);
        break;
      case 6:
        fields.has_strings = true;
        break;
      case 7:
        reader.append_integers(fields.int64s);
        break;
      case 8:
        fields.name = reader.text();
        break;
      case 9:
        fields.raw = reader.bytes();
        break;
      case 10:
        reader.append_doubles(fields.doubles);
        break;
      case 11:
        reader.append_integers(fields.uint64s);
        break;
      case 13:
        read_entry(reader.message(), fields);
        break;
      case 14:
        read_location(reader, fields);
        break;
      default:
        break;
    }
  }
  return fields;
}

void check_count(const TensorFields& fields, size_t stored, int64_t expected, std::string_view unit) {
  if (static_cast<int64_t>(stored) == expected) return;
  fail(fields, fmt::format("its shape [{}] needs {} {}, it has {}", fmt::join(fields.dims, ","), expected, unit, stored));
}

// `Stored` values of a typed field as elements of type `T`; an integer that does not fit is a fault.
template <typename T, typename Stored>
void fill(const TensorFields& fields, const std::vector<Stored>& stored, Tensor& tensor) {
  check_count(fields, stored.size(), element_count(tensor.shape), "elements");
  tensor = make_tensor(tensor.type, tensor.shape);
  std::transform(stored.begin(), stored.end(), writable<T>(tensor).begin(), [&](Stored value) {
    if constexpr (std::is_integral_v<T> && sizeof(T) < sizeof(Stored)) {
      if (value < static_cast<Stored>(std::numeric_limits<T>::min()) || value > static_cast<Stored>(std::numeric_limits<T>::max()))
        fail(fields, fmt::format("value {} does not fit into {}", value, name_of(tensor.type)));
    }
    return static_cast<T>(value);
  });
}

void fill_typed(const TensorFields& fields, Tensor& tensor) {
  switch (tensor.type) {
    case DataType::f32:
      return fill<float>(fields, fields.floats, tensor);
    case DataType::f64:
      return fill<double>(fields, fields.doubles, tensor);
    case DataType::i64:
      return fill<int64_t>(fields, fields.int64s, tensor);
    case DataType::u64:
      return fill<uint64_t>(fields, fields.uint64s, tensor);
    case DataType::u32:
      return fill<uint32_t>(fields, fields.uint64s, tensor);
    case DataType::i32:
      return fill<int32_t>(fields, fields.int32s, tensor);
    case DataType::i16:
      return fill<int16_t>(fields, fields.int32s, tensor);
    case DataType::i8:
      return fill<int8_t>(fields, fields.int32s, tensor);
    case DataType::f16:  // as bits
    case DataType::bf16:
    case DataType::u16:
      return fill<uint16_t>(fields, fields.int32s, tensor);
    case DataType::boolean:
    case DataType::u8:
      return fill<uint8_t>(fields, fields.int32s, tensor);
  }
}

void fill_external(const TensorFields& fields, int64_t bytes, ExternalData& external, Tensor& tensor) {
  const auto entry = [&](std::string_view key) -> std::optional<int64_t> {
    const auto found = fields.external.find(key);
    if (found == fields.external.end()) return std::nullopt;
    const auto value = parse_int(found->second);
    if (!value || *value < 0) fail(fields, fmt::format("external {} '{}' is not a size", key, found->second));
    return value;
  };
  const auto location = fields.external.find("location");
  if (location == fields.external.end()) fail(fields, "external data without a location");
  const auto length = entry("length");
  if (length && *length != bytes) fail(fields, fmt::format("external length {}, its shape needs {} bytes", *length, bytes));
  external.read(location->second, entry("offset").value_or(0), tensor);
}

void fill_raw(const TensorFields& fields, int64_t bytes, Tensor& tensor) {
  if (!fields.floats.empty() || !fields.doubles.empty() || !fields.int32s.empty() || !fields.int64s.empty() || !fields.uint64s.empty())
    fail(fields, "it has raw and typed data");
  check_count(fields, fields.raw->size(), bytes, "bytes");
  tensor = make_tensor(tensor.type, tensor.shape);
  if (bytes > 0) std::memcpy(const_cast<std::byte*>(tensor.data.get()), fields.raw->data(), fields.raw->size());
}

// Reads the elements as they lie in the file: one byte in each whole number of the typed field.
std::vector<std::byte> packed_elements(const TensorFields& fields, int64_t bytes, ExternalData& external) {
  if (fields.is_external) {
    Tensor content{DataType::u8, {bytes}, nullptr};
    fill_external(fields, bytes, external, content);
    return {content.data.get(), content.data.get() + content.bytes()};
  }
  if (fields.raw) {
    check_count(fields, fields.raw->size(), bytes, "bytes");
    return {fields.raw->begin(), fields.raw->end()};
  }
  check_count(fields, fields.int32s.size(), bytes, "bytes");
  std::vector<std::byte> content;
  content.reserve(fields.int32s.size());
  for (const int64_t one : fields.int32s) content.push_back(static_cast<std::byte>(one & 255));
  return content;
}

}  // namespace

NamedTensor parse_tensor(WireReader message, ExternalData& external, const OnnxLimits& limits) {
  const TensorFields fields = read_fields(message);
  const auto packed = widened_type_of(fields.type);
  const auto type = packed ? packed : data_type_of(fields.type);
  if (!type || fields.has_strings) fail(fields, fmt::format("element type {} is not supported", onnx_type_name(fields.type)));
  if (fields.has_segment) fail(fields, "tensors in segments are not supported");
  const auto elements = checked_elements(fields.dims, limits.max_elements);
  if (!elements)
    fail(fields, fmt::format("shape [{}] is negative or has more than {} elements", fmt::join(fields.dims, ","), limits.max_elements));
  if (packed)
    return {fields.name, unpack({fields.type, packed_elements(fields, packed_bytes(fields.type, *elements), external)}, fields.dims)};
  const int64_t bytes = *elements * static_cast<int64_t>(byte_size(*type));
  NamedTensor result{fields.name, Tensor{*type, fields.dims, nullptr}};
  if (fields.is_external) {
    fill_external(fields, bytes, external, result.tensor);
  } else if (fields.raw) {
    fill_raw(fields, bytes, result.tensor);
  } else {
    fill_typed(fields, result.tensor);
  }
  // A bool that is neither 0 nor 1 must not be looked at.
  if (*type == DataType::boolean) {
    for (uint8_t& value : writable<uint8_t>(result.tensor)) value = value != 0;
  }
  return result;
}

}  // namespace deepgap
