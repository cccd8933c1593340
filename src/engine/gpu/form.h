// The form of a value in the device's memory: its type, the order of its axes, its padding.
//
// Plain: row-major. Channels last: axis 1 innermost, the others in order. The innermost axis takes `pitch` elements, at least its size;
// what is past the size is padding, which every kernel that writes the value fills with finite numbers.
#pragma once

#include "engine/gpu/launch.h"

#include <deepgap/tensor.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace deepgap::gpu {

struct Form {
  Element element = Element::f32;
  bool channels_last = false;  // only for rank 3 and more
  int64_t pitch = 1;
};

inline constexpr int64_t vector_bytes = 16;  // bytes that a thread reads at once

Element element_of(DataType type);
bool is_half(Element element);  // float16 or bfloat16
// Puts a number where the one of that position lies, as float16, bfloat16 or float32.
void put_number(std::vector<std::byte>& bytes, size_t position, Element element, float value);

Form plain_form(Element element, const Shape& shape);
// Chooses a pitch with which a pixel is a multiple of vector_bytes.
Form channels_last_form(Element element, const Shape& shape);
// Like plain_form, with rows that are multiples of vector_bytes.
Form rows_form(Element element, const Shape& shape);
// Keeps the order, without padding beyond what the element's vectors need.
Form retyped(const Form& form, Element element, const Shape& shape);

size_t innermost(const Shape& shape, const Form& form);                 // the axis; 0 for a scalar
std::vector<size_t> order_of(const Shape& shape, const Form& form);     // axes, outermost first
std::vector<int64_t> strides_of(const Shape& shape, const Form& form);  // in elements, by axis
int64_t elements_of(const Shape& shape, const Form& form);              // with padding
size_t bytes_of(const Shape& shape, const Form& form);
bool is_padded(const Shape& shape, const Form& form);
// Returns whether the same bytes are the value in either form.
bool same_places(const Shape& shape, const Form& a, const Form& b);

}  // namespace deepgap::gpu
