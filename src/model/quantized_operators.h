// QOperator nodes: operators on 8-bit integers with scales and zero points among their inputs. ONNX has QLinearConv and QLinearMatMul,
// com.microsoft has more, and ONNX Runtime's quantizer writes them (QuantFormat.QOperator).
#pragma once

#include <deepgap/graph.h>

#include <string>
#include <vector>

namespace deepgap {

// Puts what they mean in their place: DequantizeLinear of each input, the operator on numbers (which keeps the node's name),
// QuantizeLinear of its result. So every engine's way with integers applies, and nothing else needs to know of them. A node that cannot be
// said so stays: one with channels last, or without its result's zero point, whose type would be open. DequantizeLinear and
// QuantizeLinear of com.microsoft become ONNX's.
// Before shape inference: types and shapes of what is new are left open.
void expand_quantized_operators(Graph& graph);
std::vector<std::string> quantized_operators();  // those it knows, sorted

}  // namespace deepgap
