#include "backends/onnxruntime/ort_values.h"

#include "backends/common/port.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <array>

namespace deepgap {
namespace {

// ONNXTensorElementDataType, by the order of DataType.
constexpr std::array<int, 13> element_types{1, 11, 10, 16, 3, 5, 6, 7, 2, 4, 12, 13, 9};
int element_type(DataType type) { return element_types[static_cast<size_t>(type)]; }

}  // namespace

OrtValueHandle ort_value_over(const OrtMemoryInfo* memory, const void* data, DataType type, const Shape& shape) {
  OrtValue* value = nullptr;
  ort().call(ort_create_tensor_with_data, memory, const_cast<void*>(data), bytes_of(type, shape), shape.data(), shape.size(),
             element_type(type), &value);
  return OrtValueHandle(value);
}

TensorView ort_tensor(OrtValue* value, const std::string& output, DataType type, Shape& shape) {
  OrtTensorTypeAndShapeInfo* raw = nullptr;
  ort().call(ort_get_type_and_shape, value, &raw);
  const OrtTypeAndShapeHandle info(raw);
  int found = 0;
  size_t rank = 0;
  ort().call(ort_get_element_type, raw, &found);
  ort().call(ort_get_rank, raw, &rank);
  if (found != element_type(type)) throw Error(ErrorKind::input, fmt::format("onnxruntime: output '{}' has another type", output));
  shape.resize(rank);
  ort().call(ort_get_dimensions, raw, shape.data(), rank);
  void* data = nullptr;
  ort().call(ort_get_tensor_data, value, &data);
  return {type, shape, static_cast<const std::byte*>(data)};
}

}  // namespace deepgap
