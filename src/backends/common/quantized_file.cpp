#include "backends/common/quantized_file.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {

const OperatorUse* find_operator(const GraphSummary& graph, const std::string& op) {
  const auto found = std::find_if(graph.operators.begin(), graph.operators.end(),
                                  [&](const OperatorUse& use) { return use.op == op && use.domain.empty(); });
  return found == graph.operators.end() ? nullptr : &*found;
}

bool is_quantized(const GraphSummary& graph) {
  return find_operator(graph, "QuantizeLinear") != nullptr && find_operator(graph, "DequantizeLinear") != nullptr;
}

bool computes_integers(const GraphSummary& graph) {
  return std::any_of(graph.operators.begin(), graph.operators.end(), [](const OperatorUse& use) {
    const bool of_onnx = use.domain.empty() && (use.op.ends_with("Integer") || use.op.starts_with("QLinear"));
    const bool of_microsoft = use.domain == "com.microsoft" &&
                              (use.op.starts_with("DynamicQuantize") || use.op.starts_with("MatMulInteger") ||
                               use.op.starts_with("QLinear") || use.op == "MatMulNBits" || use.op == "QAttention" || use.op == "QGemm");
    return of_onnx || of_microsoft;
  });
}

std::string quantization_refusal(Precision precision, const GraphSummary& graph) {
  const OperatorUse* quantize = find_operator(graph, "QuantizeLinear");
  if (precision == Precision::int8) {
    return is_quantized(graph) || computes_integers(graph)
               ? ""
               : "precision int8 needs a quantized file, with QuantizeLinear and DequantizeLinear; this one has none";
  }
  if (quantize == nullptr) return "";
  return fmt::format("precision {} of a quantized file (QuantizeLinear, node '{}'): the library computes it in int8, ask for that",
                     name_of(precision), quantize->first_node);
}

}  // namespace deepgap
