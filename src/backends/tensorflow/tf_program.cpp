#include "backends/tensorflow/tf_program.h"

#include "backends/common/port.h"
#include "backends/common/precision_tally.h"
#include "backends/tensorflow/tf_failure.h"
#include "backends/tensorflow/tf_operator.h"
#include "backends/tensorflow/tf_run_metadata.h"
#include "engine/passes/passes.h"
#include "model/graph_tools.h"

#include <fmt/format.h>

namespace deepgap {

TfSession::Fetches make_tf_part(const Graph& graph, int64_t batch, TfScope& scope, TfConstants& constants) {
  Graph bound = bind_symbols(graph, {{batch_symbol, batch}});
  constants.fold(bound);
  remove_dead(bound);
  const std::string prefix = fmt::format("batch{}", batch);
  TfValues values(bound, scope, constants);
  TfSession::Fetches fetches;
  scope.enter(prefix, "deepgap.inputs");
  for (const ValueId id : bound.inputs) {
    const Value& value = bound.values[static_cast<size_t>(id)];
    const TfOutput input = scope.make("Placeholder").type("dtype", tf_type(value.type)).shape("shape", known_shape(bound, id)).out();
    fetches.inputs.push_back(input);
    values.set_plain(id, input);
  }
  for (const Node& node : bound.nodes) {
    scope.enter(prefix, node.name);
    make_tf_operations({{"tensorflow", bound, node}, scope, values});
  }
  scope.enter(prefix, "deepgap.outputs");
  for (const ValueId id : bound.outputs) fetches.outputs.push_back(scope.unary("Identity", values.plain(id)));
  return fetches;
}

TfProgram::TfProgram(const Graph& graph, const TfSettings& settings)
    : graph_(graph), settings_(settings), tf_graph_(tf().new_graph()), scope_(tf_graph_.get()) {
  set_tf_environment(settings);
  session_.open(tf_graph_.get(), settings);
}

void TfProgram::prepare(int64_t batch) {
  if (parts_.contains(batch)) return;
  try {
    parts_.emplace(batch, make_tf_part(graph_, batch, scope_, constants_));
    session_.run(parts_.at(batch), tf_zeros(ports(graph_, graph_.inputs), batch));
  } catch (const TfFailure& failure) {
    throw tf_error(failure, "does not load the model", scope_, graph_);
  }
}

std::vector<TfTensor> TfProgram::run(int64_t batch, std::span<const TfTensor> inputs) {
  try {
    return session_.run(parts_.at(batch), inputs);
  } catch (const TfFailure& failure) {
    throw tf_error(failure, "running the model", scope_, graph_);
  }
}

std::vector<LayerTiming> TfProgram::layer_timings(int64_t batch, std::span<const TfTensor> inputs) {
  const TfBufferHandle metadata(tf().new_buffer());
  session_.run(parts_.at(batch), inputs, tf_trace_options(), metadata.get());
  return tf_layer_timings(*metadata, scope_);
}

PrecisionShares TfProgram::precision_shares(const Model& model, int64_t batch, std::span<const TfTensor> inputs) {
  PrecisionTally tally(model);
  const TfBufferHandle metadata(tf().new_buffer());
  session_.run(parts_.at(batch), inputs, tf_graph_options(), metadata.get());
  for (const TfProduct& product : tf_products(*metadata)) tally.computed_up_to(scope_.node_of(product.operation), product.precision);
  return tally.shares();
}

}  // namespace deepgap
