// Decides whether a file is quantized, and which precisions that leaves it. For engines that compute a QDQ file in INT8 whatever they are
// asked for: they take it as `int8` only, and `int8` for nothing else.
#pragma once

#include <deepgap/graph.h>
#include <deepgap/precision.h>

#include <string>

namespace deepgap {

const OperatorUse* find_operator(const GraphSummary& graph, const std::string& op);  // in ONNX's own domain; nullptr: there is none
bool is_quantized(const GraphSummary& graph);                                        // has both QuantizeLinear and DequantizeLinear
// Has operators whose numbers are integers in the file itself: ConvInteger, MatMulInteger, MatMulNBits of com.microsoft and the like, as
// dynamic and weight-only quantizers write them.
bool computes_integers(const GraphSummary& graph);
// Returns why this precision does not go with this file; empty when it does.
std::string quantization_refusal(Precision precision, const GraphSummary& graph);

}  // namespace deepgap
