// Writing and registering an operator. Each eval_*.cpp holds a family of operators: functions from a Call to the outputs, added to the
// table by a static registrar. Operators run on any thread; they keep nothing between calls.
#pragma once

#include <deepgap/error.h>
#include <deepgap/graph.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap {

// The operator's view of a run: its node and the inputs' contents. Inputs are aligned for their type.
struct Call {
  const Graph& graph;
  const Node& node;
  std::span<const Tensor> inputs;

  bool has(size_t index) const { return index < inputs.size() && inputs[index].data != nullptr; }
  const Tensor& input(size_t index) const;  // Error{input} when it is left out
  int64_t int_of(std::string_view name, int64_t fallback) const;
  float float_of(std::string_view name, float fallback) const;
  std::vector<int64_t> ints_of(std::string_view name, const std::vector<int64_t>& fallback) const;
  std::string text_of(std::string_view name, const std::string& fallback) const;

  std::vector<int64_t> integers(size_t index) const;  // contents of an int64 or int32 input
  int64_t axis(int64_t axis, size_t rank) const;      // negative counts from the end; Error{input} when out of range
  // The attribute of older opsets or the input of newer ones, whichever is there.
  std::vector<int64_t> ints_or_input(std::string_view attribute, size_t index, const std::vector<int64_t>& fallback) const;
  void expect(const Tensor& tensor, DataType type) const;  // Error{refused} for another type
  // Throws Error{input} for a computed shape with more elements than any tensor of a file may have, before memory is requested.
  void expect_possible(std::span<const int64_t> shape) const;

  [[noreturn]] void fail(const std::string& what) const;    // Error{input}: the model contradicts itself
  [[noreturn]] void refuse(const std::string& what) const;  // Error{refused}: right, but not done here
};

using Operator = std::vector<Tensor> (*)(const Call&);
bool add_operator(const char* name, Operator function);

Tensor copy_with_shape(const Tensor& tensor, Shape shape);  // shares the bytes
int64_t product_of(std::span<const int64_t> sizes);
std::vector<int64_t> row_major_strides(std::span<const int64_t> shape);

}  // namespace deepgap
