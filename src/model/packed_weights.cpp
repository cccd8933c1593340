#include "model/packed_weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

namespace deepgap {
namespace {

struct PackedType {
  int64_t number;
  int bits;
  DataType widened;
  // These describe floats with a sign in front: E5M2 has 5 exponent and 2 fraction bits.
  int exponent_bits = 0, fraction_bits = 0, bias = 0;
  enum class Special : uint8_t { none, nan_at_ends, nan_as_minus_zero, ieee } special = Special::none;
};
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

constexpr int64_t power_of_two = 24;  // FLOAT8E8M0: an exponent alone
constexpr std::array types{
    PackedType{17, 8, DataType::f32, 4, 3, 7, PackedType::Special::nan_at_ends},         // FLOAT8E4M3FN
    PackedType{18, 8, DataType::f32, 4, 3, 8, PackedType::Special::nan_as_minus_zero},   // FLOAT8E4M3FNUZ
    PackedType{19, 8, DataType::f32, 5, 2, 15, PackedType::Special::ieee},               // FLOAT8E5M2
    PackedType{20, 8, DataType::f32, 5, 2, 16, PackedType::Special::nan_as_minus_zero},  // FLOAT8E5M2FNUZ
    PackedType{21, 4, DataType::u8},                                                     // UINT4
    PackedType{22, 4, DataType::i8},                                                     // INT4
    PackedType{23, 4, DataType::f32, 2, 1, 1},                                           // FLOAT4E2M1
    PackedType{power_of_two, 8, DataType::f32},                                          // FLOAT8E8M0
    PackedType{25, 2, DataType::u8},                                                     // UINT2
    PackedType{26, 2, DataType::i8},                                                     // INT2
};

const PackedType* type_of(int64_t number) {
  const auto found = std::find_if(types.begin(), types.end(), [&](const PackedType& type) { return type.number == number; });
  return found == types.end() ? nullptr : &*found;
}

float float_of(const PackedType& type, uint32_t code) {
  if (type.number == power_of_two) return code == 255 ? not_a_number : std::ldexp(1.0F, static_cast<int>(code) - 127);
  const uint32_t sign_bit = 1U << (type.bits - 1), magnitude = code & (sign_bit - 1);
  const auto exponent = static_cast<int>(magnitude >> type.fraction_bits), most = (1 << type.exponent_bits) - 1;
  const auto fraction = static_cast<float>(magnitude & ((1U << type.fraction_bits) - 1));
  using enum PackedType::Special;
  if (type.special == nan_at_ends && magnitude == sign_bit - 1) return not_a_number;
  if (type.special == nan_as_minus_zero && code == sign_bit) return not_a_number;
  const float sign = (code & sign_bit) != 0 ? -1.0F : 1.0F;
  if (type.special == ieee && exponent == most) return fraction != 0 ? not_a_number : sign * std::numeric_limits<float>::infinity();
  const float ones = static_cast<float>(1 << type.fraction_bits);
  if (exponent == 0) return sign * std::ldexp(fraction / ones, 1 - type.bias);
  return sign * std::ldexp(1 + fraction / ones, exponent - type.bias);
}

// The codes of elements lie from the lowest bits up.
uint32_t code_at(const PackedType& type, const std::vector<std::byte>& bytes, size_t element) {
  const size_t bit = element * static_cast<size_t>(type.bits);
  return static_cast<uint32_t>(bytes[bit / 8]) >> (bit % 8) & ((1U << type.bits) - 1);
}

// The owner of `Tensor::data`: the widened numbers, and what they were.
struct PackedOwner {
  std::shared_ptr<const std::byte> widened;
  std::shared_ptr<const PackedContent> content;
  void operator()(const std::byte* /*numbers*/) { widened.reset(); }
};

// All values that are not negative, in ascending order; their codes are their places.
std::vector<float> magnitudes_of(const PackedType& type) {
  std::vector<float> values;
  for (uint32_t code = 0; code < 1U << (type.bits - 1); ++code)
    if (const float value = float_of(type, code); std::isfinite(value)) values.push_back(value);
  return values;
}

float nearest_float(const PackedType& type, float value) {
  if (std::isnan(value)) return value;
  static const auto tables = [] {
    std::array<std::vector<float>, types.size()> made;
    for (size_t i = 0; i < types.size(); ++i)
      if (types[i].exponent_bits > 0) made[i] = magnitudes_of(types[i]);
    return made;
  }();
  const std::vector<float>& values = tables[static_cast<size_t>(&type - types.data())];
  const float size = std::abs(value);
  const auto above = std::lower_bound(values.begin(), values.end(), size);
  if (above == values.end()) return std::copysign(values.back(), value);
  if (above == values.begin()) return std::copysign(*above, value);
  const float up = *above - size, down = size - *(above - 1);
  const bool even_above = (above - values.begin()) % 2 == 0;
  return std::copysign(up < down || (up == down && even_above) ? *above : *(above - 1), value);
}

}  // namespace

std::optional<DataType> widened_type_of(int64_t onnx_type) {
  const PackedType* type = type_of(onnx_type);
  return type == nullptr ? std::nullopt : std::optional(type->widened);
}

int64_t packed_bytes(int64_t onnx_type, int64_t elements) {
  const int per_byte = 8 / type_of(onnx_type)->bits;
  return elements / per_byte + (elements % per_byte != 0 ? 1 : 0);
}

Tensor unpack(PackedContent content, Shape shape) {
  const PackedType& type = *type_of(content.onnx_type);
  Tensor wide = make_tensor(type.widened, std::move(shape));
  const auto count = static_cast<size_t>(element_count(wide.shape));
  for (size_t i = 0; i < count; ++i) {
    const uint32_t code = code_at(type, content.bytes, i);
    const uint32_t sign_bit = 1U << (type.bits - 1);
    if (type.widened == DataType::f32)
      writable<float>(wide)[i] = float_of(type, code);
    else if (type.widened == DataType::u8)
      writable<uint8_t>(wide)[i] = static_cast<uint8_t>(code);
    else
      writable<int8_t>(wide)[i] = static_cast<int8_t>(static_cast<int>(code ^ sign_bit) - static_cast<int>(sign_bit));
  }
  const std::byte* numbers = wide.data.get();
  wide.data = std::shared_ptr<const std::byte>(numbers, PackedOwner{wide.data, std::make_shared<const PackedContent>(std::move(content))});
  return wide;
}

const PackedContent* packed_content(const Tensor& tensor) {
  const auto* owner = std::get_deleter<PackedOwner>(tensor.data);
  return owner == nullptr ? nullptr : owner->content.get();
}

size_t stored_bytes(const Tensor& tensor) {
  const PackedContent* packed = packed_content(tensor);
  return packed == nullptr ? tensor.bytes() : packed->bytes.size();
}

float nearest_value(int64_t onnx_type, float value) {
  const PackedType& type = *type_of(onnx_type);
  if (type.widened == DataType::f32) return type.exponent_bits > 0 ? nearest_float(type, value) : value;
  const float least = type.widened == DataType::i8 ? -std::ldexp(1.0F, type.bits - 1) : 0;
  return std::clamp(std::nearbyint(value), least, least + std::ldexp(1.0F, type.bits) - 1);
}

}  // namespace deepgap
