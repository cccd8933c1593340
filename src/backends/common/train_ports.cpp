#include "backends/common/train_ports.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

// [N, classes], or with ones behind.
bool is_scores(const Port& output) {
  if (!output.leads_with_batch() || output.dims->size() < 2) return false;
  return std::all_of(output.dims->begin() + 2, output.dims->end(), [](const Dim& dim) { return dim.known() && dim.size == 1; });
}

}  // namespace

std::vector<Port> train_ports(const std::string& engine, const Graph& graph, const TrainSettings& settings) {
  const std::vector<Port> outputs = ports(graph, graph.outputs);
  if (outputs.empty()) throw Error(ErrorKind::refused, engine + ": a network without outputs has no loss");
  const Port& output = outputs.front();
  std::vector<Port> all = ports(graph, graph.inputs);
  if (settings.loss == Loss::cross_entropy) {
    if (!is_scores(output))
      throw Error(ErrorKind::refused,
                  fmt::format("{}: loss cross-entropy is of scores [N, classes], which output '{}' is not; there is --loss mse", engine,
                              output.name));
    all.push_back({"target", DataType::i64, Dims{{1, batch_symbol}}});
  } else {
    if (!output.leads_with_batch() || !output.shape(1) || output.type != DataType::f32)
      throw Error(ErrorKind::refused, fmt::format("{}: loss mse is of float32 outputs whose size follows from the batch, which '{}' is not",
                                                  engine, output.name));
    all.push_back({"target", DataType::f32, output.dims});
  }
  return all;
}

Graph ending_with_scores(const Graph& graph, Loss loss) {
  Graph scores = graph;
  if (scores.outputs.empty()) return scores;
  scores.outputs.resize(1);
  if (loss != Loss::cross_entropy) return scores;
  for (const Node& node : scores.nodes) {
    if (node.op == "Softmax" && node.outputs[0] == scores.outputs[0]) {
      scores.outputs[0] = node.inputs[0];
      break;
    }
  }
  return scores;
}

}  // namespace deepgap
