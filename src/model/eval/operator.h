// Writing and registering an operator. Each eval_*.cpp holds a family of operators: functions from a Call to the outputs, added to the
// table by a static registrar. Operators run on any thread; they keep nothing between calls.
#pragma once

#include "model/node_reader.h"

#include <deepgap/error.h>
#include <deepgap/graph.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap {

// The operator's view of a run: its node and the inputs' contents. Inputs are aligned for their type.
struct Call : NodeReader {
  Call(const Graph& whole, const Node& one, std::span<const Tensor> contents)
      : NodeReader{"the reference interpreter", whole, one, contents} {}

  bool has(size_t index) const { return index < inputs.size() && inputs[index].data != nullptr; }
  const Tensor& input(size_t index) const;  // Error{input} when it is left out
  float float_of(std::string_view name, float fallback) const;
  void expect(const Tensor& tensor, DataType type) const;  // Error{refused} for another type
  // Throws Error{input} for a computed shape with more elements than any tensor of a file may have, before memory is requested.
  void expect_possible(std::span<const int64_t> shape) const;
};

using Operator = std::vector<Tensor> (*)(const Call&);
bool add_operator(const char* name, Operator function);

Tensor copy_with_shape(const Tensor& tensor, Shape shape);  // shares the bytes
int64_t product_of(std::span<const int64_t> sizes);
std::vector<int64_t> row_major_strides(std::span<const int64_t> shape);

}  // namespace deepgap
