#include "worker/node_check.h"

#include "engine/passes/passes.h"
#include "model/eval/evaluator.h"
#include "model/model_of.h"
#include "worker/check.h"
#include "worker/pieces.h"
#include "worker/quantized_model.h"
#include "worker/run_graph.h"

#include <algorithm>
#include <map>
#include <set>

namespace deepgap {
namespace {

using Named = std::map<std::string, Tensor>;  // values of one sample

bool has_batch(const Value& value) { return !value.dims || (!value.dims->empty() && !value.dims->front().known()); }

// Where the network has a batch, without what has none: an embedding of all positions is not a value of a sample.
std::vector<std::string> known_names(const Graph& graph) {
  std::vector<ValueId> known = graph.inputs;
  for (const Node& node : graph.nodes) known.insert(known.end(), node.outputs.begin(), node.outputs.end());
  const auto value = [&](ValueId id) -> const Value& { return graph.values[static_cast<size_t>(id)]; };
  const bool batched = std::any_of(graph.inputs.begin(), graph.inputs.end(), [&](ValueId id) { return has_batch(value(id)); });
  std::vector<std::string> names;
  for (const ValueId id : known)
    if (id != no_value && (!batched || has_batch(value(id)))) names.push_back(value(id).name);
  return names;
}

Named reference_values(const Graph& graph, const std::vector<TensorView>& sample, const std::set<std::string>& wanted) {
  Named values;
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < sample.size(); ++i) {
    inputs.push_back(borrowed(sample[i]));
    values[graph.values[static_cast<size_t>(graph.inputs[i])].name] = inputs.back();
  }
  evaluate(graph, inputs, [&](ValueId id, const Tensor& tensor) {
    const std::string& name = graph.values[static_cast<size_t>(id)].name;
    if (wanted.contains(name)) values[name] = tensor;
  });
  return values;
}

// The BatchNormalization that an engine folds is not a node of its own.
Graph as_engines_have_it(const Model& model) {
  Graph graph = model.graph();
  if (!has_quantization(model.summary())) optimize_unbound(graph);
  return graph;
}

}  // namespace

NodeChecks check_nodes(const OutputsRequest& request) {
  OutputsRequest few = request;
  few.samples = std::min(request.samples, node_check_samples);
  const CheckedInputs checked = open_checked(few);
  const Graph& reference = checked.model->graph();
  const Pieces pieces = pieces_of(as_engines_have_it(*checked.engine_model), known_names(reference));

  std::set<std::string> wanted(pieces.inputs.begin(), pieces.inputs.end());
  for (const Piece& piece : pieces.pieces) wanted.insert(piece.output);
  std::vector<Named> expected;
  std::vector<std::vector<TensorView>> inputs;
  const Queries queries(batching_of(checked.model->summary().inputs), checked.inputs);
  for (const auto& sample : queries.inputs()) {
    expected.push_back(reference_values(reference, sample, wanted));
    inputs.emplace_back();
    for (const std::string& name : pieces.inputs) inputs.back().push_back(expected.back().at(name).view());
  }

  std::vector<OutputComparison> comparisons(pieces.pieces.size());
  const auto compare = [&](size_t position, std::span<const TensorView> outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) comparisons[i].add(0, expected[position].at(pieces.pieces[i].output).view(), outputs[i]);
  };
  NodeChecks result;
  result.samples = static_cast<int64_t>(inputs.size());
  const auto model = model_of(checked.model->name() + ", its nodes alone", pieces.graph);
  result.version = request.backend == reference_backend ? run_on_evaluator(*model, inputs, compare)
                                                        : run_on_engine(engine_of(request), *model, inputs, compare);
  for (size_t i = 0; i < pieces.pieces.size(); ++i) {
    const Piece& piece = pieces.pieces[i];
    const CheckResult compared = comparisons[i].result(0);
    result.nodes.push_back({piece.name, piece.op, piece.quantized, compared.sqnr_db,
                            piece.quantum ? std::optional(compared.max_abs_error / *piece.quantum) : std::nullopt});
  }
  return result;
}

}  // namespace deepgap
