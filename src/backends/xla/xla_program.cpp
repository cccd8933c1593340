#include "backends/xla/xla_program.h"

#include "backends/common/failure.h"
#include "backends/xla/xla_operator.h"
#include "base/words.h"
#include "engine/passes/passes.h"
#include "model/eval/element_types.h"
#include "model/eval/fold_constants.h"
#include "model/graph_tools.h"

#include <fmt/format.h>

#include <cstdio>
#include <iterator>
#include <utility>

namespace deepgap {

XlaText xla_text(const Graph& graph, int64_t batch, const XlaSettings& settings, bool ready) {
  Graph bound = bind_symbols(graph, {{batch_symbol, batch}});
  fold_constants(bound);
  remove_dead(bound);
  HloWriter writer;
  XlaValues values(bound, writer, settings.floats);
  XlaText made;
  for (const ValueId id : bound.inputs) {
    const DataType type = bound.values[static_cast<size_t>(id)].type, computed = values.computed(type);
    made.input_types.push_back(ready ? computed : type);
    values.set(id, writer.convert(writer.argument(made.input_types.back(), known_shape(bound, id)), computed));
  }
  for (const Node& node : bound.nodes) {
    const XlaCall call{{"xla", bound, node}, writer, values, settings.exact};
    made.nodes[writer.line()] = fmt::format("operator {} (node '{}')", call.operator_name(), node.name);
    write_xla_operation(call);
  }
  std::vector<HloValue> outputs;
  for (const ValueId id : bound.outputs) {
    outputs.push_back(writer.convert(values.of(id), bound.values[static_cast<size_t>(id)].type));
    made.output_types.push_back(outputs.back().type);
    made.output_shapes.push_back(outputs.back().shape);
  }
  made.text = writer.program(outputs);
  made.weights = values.weights();
  return made;
}

std::string xla_conversion(DataType from, DataType to, const Shape& shape) {
  HloWriter writer;
  return writer.program({writer.convert(writer.argument(from, shape), to)});
}

// Weights are arguments, so XLA cannot fold what follows a convolution into them, and would compute it apart from the convolution.
XlaProgram::XlaProgram(Graph graph, const PjrtClient& client, const XlaSettings& settings, bool ready)
    : graph_(std::move(graph)), client_(client), settings_(settings), ready_(ready) {
  remove_identities(graph_);
  fold_constants(graph_);
  fold_affines(graph_);
}

PjrtBufferObject* XlaProgram::uploaded(const Tensor& weight) {
  Weight& found = weights_[{weight.data.get(), weight.type, weight.shape}];
  if (found.buffer.get() == nullptr) {
    found.tensor = weight;
    found.buffer = client_.copy(converted(weight, weight.type == DataType::f32 ? settings_.floats : weight.type).view());
  }
  return found.buffer.get();
}

void XlaProgram::prepare(int64_t batch) {
  if (parts_.contains(batch)) return;
  Part part;
  try {
    part.text = xla_text(graph_, batch, settings_, ready_);
    part.program = client_.compile(std::exchange(part.text.text, {}));
    for (const Tensor& weight : std::exchange(part.text.weights, {})) part.weights.push_back(uploaded(weight));
    parts_.emplace(batch, std::move(part));
  } catch (const PjrtFailure& failure) {
    throw xla_error(failure, "does not load the model", part.text.nodes);
  }
}

std::vector<PjrtBuffer> XlaProgram::run(int64_t batch, const std::vector<PjrtBuffer>& inputs) const {
  const Part& part = parts_.at(batch);
  std::vector<PjrtBufferObject*> arguments;
  for (const PjrtBuffer& input : inputs) arguments.push_back(input.get());
  arguments.insert(arguments.end(), part.weights.begin(), part.weights.end());
  return client_.execute(part.program, arguments, part.text.output_types.size());
}

namespace {

std::string named_node(const std::string& message, const std::map<size_t, std::string>& nodes) {
  size_t line = 0;
  if (std::sscanf(message.c_str(), "-:%zu:", &line) != 1) return {};
  const auto after = nodes.upper_bound(line);
  return after == nodes.begin() ? std::string() : ": " + std::prev(after)->second;
}

}  // namespace

Error xla_error(const PjrtFailure& failure, const std::string& doing, const std::map<size_t, std::string>& nodes) {
  constexpr int resource_exhausted = 8;
  const std::string words = one_line(failure.message);
  if (failure.code == resource_exhausted || words.find("Out of memory") != std::string::npos)
    return {ErrorKind::out_of_memory, fmt::format("out of memory: xla {}: {}", doing, words)};
  return {ErrorKind::refused, fmt::format("xla {}{}: {}", doing, named_node(words, nodes), words)};
}

Error xla_run_error(const std::exception& failure) {
  if (const auto* pjrt = dynamic_cast<const PjrtFailure*>(&failure)) return xla_error(*pjrt, "running the model");
  return error_from(failure);
}

}  // namespace deepgap
