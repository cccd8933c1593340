#include "engine/gpu/form.h"

#include "base/rounding.h"
#include "model/eval/half.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace deepgap::gpu {
namespace {

int64_t padded(int64_t size, Element element) {
  const int64_t step = vector_bytes / static_cast<int64_t>(byte_size(element));
  return round_up(size, step);
}

}  // namespace

Element element_of(DataType type) {
  switch (type) {
    case DataType::f32:
      return Element::f32;
    case DataType::f64:
      return Element::f64;
    case DataType::f16:
      return Element::f16;
    case DataType::bf16:
      return Element::bf16;
    case DataType::i8:
      return Element::i8;
    case DataType::i16:
      return Element::i16;
    case DataType::i32:
      return Element::i32;
    case DataType::i64:
      return Element::i64;
    case DataType::u8:
      return Element::u8;
    case DataType::u16:
      return Element::u16;
    case DataType::u32:
      return Element::u32;
    case DataType::u64:
      return Element::u64;
    default:
      return Element::boolean;
  }
}

bool is_half(Element element) { return element == Element::f16 || element == Element::bf16; }

void put_number(std::vector<std::byte>& bytes, size_t position, Element element, float value) {
  const auto put = [&](auto number) { std::memcpy(bytes.data() + position * sizeof number, &number, sizeof number); };
  if (element == Element::f16) return put(to_half(value).bits);
  if (element == Element::bf16) return put(to_bfloat16(value).bits);
  put(value);
}

Form plain_form(Element element, const Shape& shape) { return {element, false, shape.empty() ? 1 : shape.back()}; }
Form channels_last_form(Element element, const Shape& shape) { return {element, true, padded(shape[1], element)}; }
Form rows_form(Element element, const Shape& shape) { return {element, false, padded(shape.empty() ? 1 : shape.back(), element)}; }
Form retyped(const Form& form, Element element, const Shape& shape) {
  if (form.channels_last) return channels_last_form(element, shape);
  return is_padded(shape, form) ? rows_form(element, shape) : plain_form(element, shape);
}

size_t innermost(const Shape& shape, const Form& form) {
  if (form.channels_last) return 1;
  return shape.empty() ? 0 : shape.size() - 1;
}

std::vector<size_t> order_of(const Shape& shape, const Form& form) {
  std::vector<size_t> order(shape.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (form.channels_last) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

std::vector<int64_t> strides_of(const Shape& shape, const Form& form) {
  std::vector<int64_t> strides(shape.size(), 1);
  const auto order = order_of(shape, form);
  int64_t next = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = next;
    next *= i + 1 == order.size() ? form.pitch : shape[order[i]];
  }
  return strides;
}

int64_t elements_of(const Shape& shape, const Form& form) {
  if (shape.empty()) return form.pitch;
  const int64_t inner = shape[innermost(shape, form)];
  const int64_t all = element_count(shape);
  return inner == 0 ? 0 : all / inner * form.pitch;
}
size_t bytes_of(const Shape& shape, const Form& form) { return static_cast<size_t>(elements_of(shape, form)) * byte_size(form.element); }
bool is_padded(const Shape& shape, const Form& form) { return form.pitch != (shape.empty() ? 1 : shape[innermost(shape, form)]); }

bool same_places(const Shape& shape, const Form& a, const Form& b) {
  if (a.element != b.element || elements_of(shape, a) != elements_of(shape, b)) return false;
  const auto first = strides_of(shape, a), second = strides_of(shape, b);
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] > 1 && first[i] != second[i]) return false;
  return true;
}

}  // namespace deepgap::gpu
