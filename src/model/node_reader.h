// Reads a node for whoever runs it or translates it to calls of an engine: attributes, contents of inputs, axes, shapes, types.
#pragma once

#include <deepgap/graph.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap {

// A node of a Graph whose sizes are bound and whose shape arithmetic is folded.
struct NodeReader {
  const char* engine;  // begins the messages
  const Graph& graph;
  const Node& node;
  std::span<const Tensor> inputs = {};  // contents of all inputs, for the reference interpreter; else the Graph's constants are known

  std::string operator_name() const;  // "Conv", "com.example.Mix"
  bool has(size_t input) const { return input < node.inputs.size() && node.inputs[input] != no_value; }
  const Tensor* content(size_t input) const;  // nullptr when it is left out or computed while the network runs
  bool is_constant(size_t input) const { return content(input) != nullptr; }
  bool is_open(size_t input) const { return has(input) && !is_constant(input); }
  const Tensor& constant(size_t input) const;         // refused when it is computed while the network runs
  std::vector<int64_t> integers(size_t input) const;  // contents of a constant int64 or int32 input
  double number(size_t input) const;                  // the one element of a constant input, of any type
  Shape shape(size_t input) const;                    // refused when a size is not known
  Shape output_shape(size_t output = 0) const;
  bool has_shape(size_t input) const;  // whether shape() returns
  bool has_output_shape() const;       // whether output_shape() returns
  // What is known of a shape whose other sizes need not be. Refused when it is not.
  size_t rank(size_t input) const;
  size_t output_rank() const;
  Shape sizes_from(size_t input, int64_t axis) const;
  int64_t output_size(size_t output, int64_t axis) const;
  DataType type(size_t input) const;
  DataType output_type(size_t output = 0) const;
  bool is_float(size_t input) const;
  int64_t axis(int64_t axis, size_t rank) const;                               // negative counts from the end; fails when out of range
  size_t axis_of(std::string_view name, int64_t fallback, size_t rank) const;  // that of an attribute

  int64_t int_of(std::string_view name, int64_t fallback) const;
  double float_of(std::string_view name, float fallback) const;
  std::vector<int64_t> ints_of(std::string_view name, const std::vector<int64_t>& fallback) const;
  std::string text_of(std::string_view name, const std::string& fallback) const;
  // The attribute of older opsets or the constant input of newer ones, whichever is there.
  std::vector<int64_t> ints_or_input(std::string_view attribute, size_t input, const std::vector<int64_t>& fallback) const;

  [[noreturn]] void fail(const std::string& what) const;    // Error{input}: the model contradicts itself
  [[noreturn]] void refuse(const std::string& what) const;  // Error{refused} naming engine, operator and node
  void expect_outputs(size_t most) const;                   // refuses further outputs that somebody reads

 private:
  const Dims& dims(ValueId id, const std::string& place) const;
};

// Returns the axes that a node Reduce... names, counted from 0, of an input of `rank`: those in the attribute or the input `axes`; if none
// are named, all of them, or none with noop_with_empty_axes.
std::vector<int64_t> reduced_axes(const NodeReader& reader, size_t rank);

}  // namespace deepgap
