// Kernels whose result at a place needs its operands at that place alone: what a body says of a0, a1, ... becomes a kernel that reads and
// writes 16 bytes a thread where the operands lie so that it can.
#pragma once

#include "engine/gpu/generated.h"

#include <optional>
#include <string>
#include <vector>

namespace deepgap::gpu {

struct PointwiseKernel {
  Operand out;
  std::vector<Operand> in;
  std::vector<Kind> kinds;  // types in which a0, a1, ... are wanted
  Kind kind = Kind::number;
  std::string body;  // sets r from a0, a1, ...
  // Operands that lie behind in[0] along `axis` of the result, of its type and rank: a0 is one of theirs beyond the end of in[0]. They are
  // arguments behind those of `in`.
  std::vector<Operand> beside = {};
  size_t axis = 0;
};
Launch pointwise_kernel(const std::string& stem, const PointwiseKernel& kernel);

// Returns the form in which a pointwise result is written: that of its largest operand, in the result's type.
Form pointwise_form(const Lowering& lowering, const std::vector<Operand>& in, const Shape& shape, Element element);

// The expression of an ONNX operator over a0, a1, ...: kinds of its operands and result. nullopt for one that is not pointwise, or of types
// that it does not have here.
struct PointwiseRule {
  std::vector<Kind> kinds;
  Kind kind = Kind::number;
  std::string body;
};
std::optional<PointwiseRule> pointwise_rule(const Lowering& lowering, const Node& node);
std::vector<std::string> pointwise_operators();

// Return texts of quantization by one scale: "a = (a - zero) * scale", and back.
std::string dequantize_text(const Quantization& quantization, const std::string& value);
std::string quantize_text(const Quantization& quantization, const std::string& value);  // a float that is a whole number in range

}  // namespace deepgap::gpu
