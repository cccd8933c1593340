// Translates one ONNX operator to operations of TensorFlow. Each operators/*.cpp holds a family: functions that read a node through a
// TfCall and make what stands for it. A static registrar adds them to the table, so that adding an operator is one entry.
#pragma once

#include "backends/tensorflow/tf_operators.h"
#include "backends/tensorflow/tf_scope.h"
#include "backends/tensorflow/tf_values.h"
#include "model/node_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace deepgap {

// Says whether a value is read and written with its channels last, and where its axes lie then.
struct TfLayout {
  bool last = false;
  size_t rank = 0;
  int64_t axis(int64_t plain) const;
  std::vector<int64_t> axes(std::vector<int64_t> plain) const;
  // Something for each axis, in the layout's order.
  std::vector<int64_t> each(const std::vector<int64_t>& plain) const;
};

struct TfCall : NodeReader {
  TfScope& scope;
  TfValues& values;

  TfOutput in(size_t input) const { return values.plain(node.inputs[input]); }
  TfOutput in_last(size_t input) const { return values.channels_last(node.inputs[input]); }
  TfOutput in_order(size_t input, const std::vector<int64_t>& order) const { return values.ordered(node.inputs[input], order); }
  void out(size_t output, TfOutput value) const;
  void out_last(size_t output, TfOutput value) const;

  // Returns the layout for an operator that treats each axis alone: channels last where the input was made so.
  TfLayout layout(size_t input = 0) const;
  TfOutput in(size_t input, const TfLayout& layout) const { return layout.last ? in_last(input) : in(input); }
  void out(size_t output, TfOutput value, const TfLayout& layout) const { layout.last ? out_last(output, value) : out(output, value); }

  // Returns one layout for all inputs of an operator that computes element by element and broadcasts.
  TfLayout aligned() const;
  TfOutput in_aligned(size_t input, const TfLayout& layout) const;

  TfType tf_type_of(size_t input) const { return tf_type(type(input)); }
};

using TfOperator = void (*)(const TfCall& call);
bool add_tf_operator(const char* name, TfOperator function);
// Throws Error{refused} naming operator and node.
void make_tf_operations(const TfCall& call);

// Element by element, of one input and of any number.
using TfUnary = TfOutput (*)(TfScope& scope, TfOutput x);
void tf_elementwise(const TfCall& call, TfUnary function);
using TfBinary = TfOutput (*)(TfScope& scope, TfOutput a, TfOutput b);
void tf_elementwise(const TfCall& call, TfBinary function);
template <TfUnary function>
void tf_unary(const TfCall& call) {
  tf_elementwise(call, function);
}
template <TfBinary function>
void tf_binary(const TfCall& call) {
  tf_elementwise(call, function);
}

// The name of an operation of TensorFlow, as an argument of templates.
template <size_t Size>
struct TfName {
  char text[Size]{};
  constexpr TfName(const char (&given)[Size]) { std::copy_n(given, Size, text); }  // NOLINT(google-explicit-constructor)
};
// An operator that is one operation of TensorFlow.
template <TfName type>
void tf_unary_as(const TfCall& call) {
  tf_elementwise(
      call, +[](TfScope& scope, TfOutput x) { return scope.unary(type.text, x); });
}
template <TfName type>
void tf_binary_as(const TfCall& call) {
  tf_elementwise(
      call, +[](TfScope& scope, TfOutput a, TfOutput b) { return scope.binary(type.text, a, b); });
}

}  // namespace deepgap
