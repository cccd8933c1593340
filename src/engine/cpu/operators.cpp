#include "engine/cpu/operators.h"

#include "engine/passes/attention.h"
#include "engine/passes/loops.h"
#include "model/eval/evaluator.h"
#include "model/graph_tools.h"

#include <deepgap/error.h>

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

namespace deepgap {
namespace {

const std::map<std::string, LowerFunction, std::less<>>& table() {
  static const std::map<std::string, LowerFunction, std::less<>> functions{
      {"Add", lower_binary},
      {"AveragePool", lower_pool},
      {"Clip", lower_activation},
      {"Concat", lower_concat},
      {"Conv", lower_convolution},
      {"ConvTranspose", lower_deconvolution},
      {"DequantizeLinear", lower_dequantize},
      {"Div", lower_binary},
      {"Dropout", lower_view},
      {"Elu", lower_activation},
      {"Flatten", lower_view},
      {"Gelu", lower_activation},
      {"Gemm", lower_gemm},
      {"GlobalAveragePool", lower_global_pool},
      {"GlobalMaxPool", lower_global_pool},
      {"HardSigmoid", lower_activation},
      {"HardSwish", lower_activation},
      {"Identity", lower_view},
      {"LayerNormalization", lower_layer_norm},
      {"LeakyRelu", lower_activation},
      {"LogSoftmax", lower_softmax},
      {"MatMul", lower_matmul},
      {"MaxPool", lower_pool},
      {"Mul", lower_binary},
      {"QuantizeLinear", lower_quantize},
      {"ReduceMean", lower_reduce_mean},
      {"Relu", lower_activation},
      {"Reshape", lower_view},
      {"Resize", lower_resize},
      {"Sigmoid", lower_activation},
      {"Softmax", lower_softmax},
      {"Softplus", lower_activation},
      {"Split", lower_split},
      {"Squeeze", lower_view},
      {"Sub", lower_binary},
      {"Tanh", lower_activation},
      {"Transpose", lower_transpose},
      {"Unsqueeze", lower_view},
      {"Upsample", lower_resize},
  };
  return functions;
}

// Operators whose way with integers is another one.
const std::map<std::string, LowerFunction, std::less<>>& integer_table() {
  static const std::map<std::string, LowerFunction, std::less<>> functions{
      {"Add", lower_integer_sum},
      {"AveragePool", lower_integer_pool},
      {"GlobalAveragePool", lower_integer_pool},
      {"MaxPool", lower_integer_pool},
  };
  return functions;
}

LowerFunction find_function(const Operation& operation) {
  if (is_attention(*operation.node)) return lower_attention;
  if (is_closed_loop(*operation.node)) return lower_loop;
  if (!operation.main.domain.empty()) return nullptr;
  if (operation.body != nullptr && operation.is_quantized())
    if (const auto it = integer_table().find(operation.main.op); it != integer_table().end()) return it->second;
  const auto it = table().find(operation.main.op);
  return it == table().end() ? nullptr : it->second;
}

bool is_evaluated(std::string_view op) {
  const auto names = evaluated_operators();
  return std::binary_search(names.begin(), names.end(), op);
}

// The Graph's values without its nodes and constants: what evaluate_node may ask, without keeping weights alive.
std::shared_ptr<const Graph> values_only(const Graph& graph) {
  auto result = std::make_shared<Graph>();
  result->name = graph.name;
  result->opset = graph.opset;
  result->values = graph.values;
  return result;
}

// A buffer without bytes has no address, which to the evaluator would be an input left out.
const std::byte* address(const std::byte* of_buffer) {
  static constexpr std::byte nothing{};
  return of_buffer == nullptr ? &nothing : of_buffer;
}

// One run of the evaluator on the addresses of a step's buffers.
struct Evaluation {
  std::shared_ptr<const Graph> graph;
  Node node;
  std::vector<Tensor> inputs;  // constants as they are; the others without data, their addresses come with each run
  std::vector<bool> is_read;
  std::vector<size_t> output_bytes;  // in the order of writes
  std::vector<size_t> written;       // positions among the node's outputs

  std::vector<Tensor> results(std::span<std::byte* const> at) const {
    std::vector<Tensor> now = inputs;
    size_t next = 0;
    for (size_t i = 0; i < now.size(); ++i)
      if (is_read[i]) now[i].data = std::shared_ptr<const std::byte>(std::shared_ptr<void>(), address(at[next++]));
    if (node.domain == "deepgap") return evaluate(*std::get<std::shared_ptr<const Graph>>(node.attributes.at("body")), now);
    return evaluate_node(*graph, node, now);
  }
  void operator()(std::span<std::byte* const> at) const {
    const std::vector<Tensor> made = results(at);
    const auto first = static_cast<size_t>(std::count(is_read.begin(), is_read.end(), true));
    for (size_t k = 0; k < written.size(); ++k) {
      const Tensor& result = made[written[k]];
      if (result.bytes() != output_bytes[k])
        throw Error(ErrorKind::refused, fmt::format("node '{}' ({}): the result has {} bytes, but shape inference expected {}", node.name,
                                                    node.op, result.bytes(), output_bytes[k]));
      if (result.bytes() > 0) std::memcpy(at[first + k], result.data.get(), result.bytes());
    }
  }
};

// The evaluator reports what it cannot do of an operator (a mode, a type) only when it runs. So it runs once, on zeros, while there is
// still time to refuse the model. Zeros may be wrong contents for a node; an error about those is not a reason to refuse. Nor is
// the size of the result: an input may decide it, as the target size of a Resize does.
void require_evaluation(const Evaluation& run) {
  std::vector<std::vector<std::byte>> zeros;
  std::vector<std::byte*> at;
  const auto add = [&](size_t bytes) { at.push_back(zeros.emplace_back(bytes).data()); };
  for (size_t i = 0; i < run.inputs.size(); ++i)
    if (run.is_read[i]) add(run.inputs[i].bytes());
  try {
    const std::vector<Tensor> made = run.results(at);
    for (const size_t output : run.written)
      if (output >= made.size())
        throw Error(ErrorKind::refused, fmt::format("node '{}' ({}): output {} is not made", run.node.name, run.node.op, output));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::refused) return;
    throw Error(ErrorKind::refused, fmt::format("native: {}", error.what()));  // the message names node and operator
  }
}

}  // namespace

bool lower_fast(Lowering& lowering, const Operation& operation) {
  const LowerFunction function = find_function(operation);
  if (function == nullptr) return false;
  try {
    return function(lowering, operation);
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) throw Error(ErrorKind::out_of_memory, fmt::format("node {}: {}", operation.name, error.what()));
    return false;  // oneDNN does not do this case; what was added (a conversion) does no harm
  }
}

bool computes_in_f32(const Node& node) {
  if (is_fused(node) || is_attention(node)) return false;
  return !node.domain.empty() || !table().contains(node.op) || node.op == "Softmax" || node.op == "LogSoftmax";
}

void lower_fallback(Lowering& lowering, const Operation& operation) {
  const bool has_body = operation.node->domain == "deepgap";  // the evaluator runs the body
  if (!has_body && (!operation.main.domain.empty() || !is_evaluated(operation.main.op)))
    throw Error(ErrorKind::refused, fmt::format("native does not run operator {}{}{} (node {})", operation.main.domain,
                                                operation.main.domain.empty() ? "" : ".", operation.main.op, operation.name));
  Evaluation run{.graph = values_only(lowering.graph()), .node = *operation.node};
  std::vector<BufferId> reads, writes;
  for (ValueId id : operation.node->inputs) {
    const Tensor* constant = lowering.constant(id);
    const bool is_read = id != no_value && constant == nullptr;
    run.is_read.push_back(is_read);
    run.inputs.push_back(constant != nullptr ? *constant : Tensor{});
    if (!is_read) continue;
    run.inputs.back() = {lowering.type(id), known_shape(lowering.graph(), id), nullptr};
    reads.push_back(lowering.read_viewed(0, id, lowering.plain(id)).buffer);
  }
  for (size_t k = 0; k < operation.node->outputs.size(); ++k) {
    const ValueId id = operation.node->outputs[k];
    if (id == no_value) continue;
    const auto bytes = static_cast<size_t>(element_count(known_shape(lowering.graph(), id))) * byte_size(lowering.type(id));
    run.written.push_back(k);
    run.output_bytes.push_back(bytes);
    writes.push_back(lowering.write(0, id, lowering.plain(id)).buffer);
  }
  require_evaluation(run);
  lowering.step(operation, std::move(run), std::move(reads), std::move(writes));
}

bool runs_natively(std::string_view op, std::string_view domain) {
  return domain.empty() && (table().contains(op) || is_evaluated(op) || op == "If" || op == "Loop");  // the evaluator runs their bodies
}

}  // namespace deepgap
