#include "quantizing.h"

#include "model/eval/evaluator.h"
#include "quantize/quantizer.h"

#include <algorithm>

namespace deepgap::conformance {

Graph quantized(const Graph& graph, const Samples& samples, const std::string& activations) {
  Quantizer quantizer(graph, {.activations = activations, .keep = "none"});
  const Graph observing = quantizer.observing_graph();
  for (const auto& sample : samples) {
    const std::vector<Tensor> outputs = evaluate(observing, sample);
    std::vector<TensorView> seen, given;
    for (const Tensor& tensor : sample) given.push_back(tensor.view());
    for (const Tensor& tensor : outputs) seen.push_back(tensor.view());
    quantizer.observe("sample", given, seen);
  }
  quantizer.use_ranges(quantizer.ranges());
  return quantizer.quantize().graph;
}

bool is_quantized(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) { return node.op == "QuantizeLinear"; });
}

}  // namespace deepgap::conformance
