#include "model/onnx_types.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace deepgap {
namespace {

struct TypeRow {
  int64_t number;
  DataType type;
};
constexpr std::array<TypeRow, 13> rows{{{1, DataType::f32},
                                        {2, DataType::u8},
                                        {3, DataType::i8},
                                        {4, DataType::u16},
                                        {5, DataType::i16},
                                        {6, DataType::i32},
                                        {7, DataType::i64},
                                        {9, DataType::boolean},
                                        {10, DataType::f16},
                                        {11, DataType::f64},
                                        {12, DataType::u32},
                                        {13, DataType::u64},
                                        {16, DataType::bf16}}};

}  // namespace

std::optional<DataType> data_type_of(int64_t onnx_type) {
  for (const TypeRow& row : rows) {
    if (row.number == onnx_type) return row.type;
  }
  return std::nullopt;
}

int64_t onnx_type_of(DataType type) {
  for (const TypeRow& row : rows) {
    if (row.type == type) return row.number;
  }
  return 0;
}

std::string onnx_type_name(int64_t onnx_type) {
  constexpr std::array<std::string_view, 27> names{
      "UNDEFINED",      "FLOAT",      "UINT8",          "INT8",   "UINT16", "INT16",      "INT32",      "INT64",    "STRING",
      "BOOL",           "FLOAT16",    "DOUBLE",         "UINT32", "UINT64", "COMPLEX64",  "COMPLEX128", "BFLOAT16", "FLOAT8E4M3FN",
      "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "UINT4",  "INT4",   "FLOAT4E2M1", "FLOAT8E8M0", "UINT2",    "INT2"};
  if (onnx_type >= 0 && onnx_type < static_cast<int64_t>(names.size())) return std::string(names[static_cast<size_t>(onnx_type)]);
  return fmt::format("number {}", onnx_type);
}

}  // namespace deepgap
