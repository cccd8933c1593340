#include "backends/tensorflow/tf_run_metadata.h"

#include "model/wire.h"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>

namespace deepgap {
namespace {

// Field numbers of TensorFlow's config.proto, step_stats.proto, graph.proto, node_def.proto and attr_value.proto.
namespace run_options {
constexpr uint32_t trace_level = 1, output_partition_graphs = 5;
constexpr int64_t full_trace = 3;
}  // namespace run_options
namespace run_metadata {
constexpr uint32_t step_stats = 1, partition_graphs = 3;
}
namespace stats {
constexpr uint32_t devices = 1;                 // fields of a StepStats
constexpr uint32_t device_name = 1, nodes = 2;  // fields of a DeviceStepStats
constexpr uint32_t node_name = 1, op_start_micros = 3, op_end_micros = 4, label = 8, op_start_nanos = 14, op_end_nanos = 15;
}  // namespace stats
namespace graph_def {
constexpr uint32_t nodes = 1, name = 1, op = 2, attributes = 5, key = 1, value = 2, type = 6;
}

WireReader reader_of(const TfBuffer& buffer) {
  const auto* bytes = static_cast<const std::byte*>(buffer.data);
  return {std::span(bytes, buffer.length), bytes};
}

struct OperationTime {
  std::string name, label;
  int64_t ns = 0;
};

OperationTime time_of(WireReader message) {
  OperationTime made;
  int64_t start_us = 0, end_us = 0, start_ns = 0, end_ns = 0;
  while (message.next()) {
    switch (message.field()) {
      case stats::node_name:
        made.name = message.text();
        break;
      case stats::label:
        made.label = message.text();
        break;
      case stats::op_start_micros:
        start_us = message.integer();
        break;
      case stats::op_end_micros:
        end_us = message.integer();
        break;
      case stats::op_start_nanos:
        start_ns = message.integer();
        break;
      case stats::op_end_nanos:
        end_ns = message.integer();
        break;
      default:
        break;
    }
  }
  made.ns = end_ns > 0 ? end_ns - start_ns : (end_us - start_us) * 1000;
  return made;
}

// "batch1/conv1/Conv2D = _FusedConv2D(...)": what stands behind the name.
std::string kind_of(const OperationTime& operation) {
  const size_t equals = operation.label.find(" = ");
  if (equals == std::string::npos) return "";
  const size_t begin = equals + 3;
  return operation.label.substr(begin, operation.label.find('(', begin) - begin);
}

// Operations that only move or keep values for others do no layer's work.
bool is_bookkeeping(const std::string& kind) {
  return kind == "_Arg" || kind == "_Retval" || kind == "NoOp" || kind == "Const" || kind == "HostConst" || kind == "_SOURCE" ||
         kind == "_SINK";
}

template <typename Function>
void each_message(WireReader message, uint32_t field, Function function) {
  while (message.next())
    if (message.field() == field) function(message.message());
}

std::string precision_of_type(int64_t type) {
  switch (static_cast<TfType>(type)) {
    case TfType::f32:
      return "fp32";
    case TfType::bf16:
      return "bf16";
    case TfType::f16:
      return "fp16";
    case TfType::f64:
      return "fp64";
    default:
      return "unknown";
  }
}

// The type attribute T of a node, 0 where it has none.
int64_t type_attribute(WireReader entry) {
  std::string key;
  int64_t type = 0;
  while (entry.next()) {
    if (entry.field() == graph_def::key) key = entry.text();
    if (entry.field() == graph_def::value && key == "T") {
      WireReader value = entry.message();
      while (value.next())
        if (value.field() == graph_def::type) type = value.integer();
    }
  }
  return type;
}

bool multiplies(std::string_view op) {
  return op.find("Conv") != std::string_view::npos || op.find("MatMul") != std::string_view::npos ||
         op.find("Einsum") != std::string_view::npos;
}

}  // namespace

std::string tf_trace_options() {
  std::string options;
  WireWriter(options).integer(run_options::trace_level, run_options::full_trace);
  return options;
}

std::string tf_graph_options() {
  std::string options;
  WireWriter(options).integer(run_options::output_partition_graphs, 1);
  return options;
}

std::vector<LayerTiming> tf_layer_timings(const TfBuffer& metadata, const TfScope& scope) {
  std::vector<LayerTiming> timings;
  std::map<std::string, size_t> places;
  const auto add = [&](WireReader node) {
    const OperationTime operation = time_of(node);
    const std::string kind = kind_of(operation);
    if (operation.name.empty() || is_bookkeeping(kind)) return;
    const std::string owner = scope.node_of(operation.name), name = owner.empty() ? operation.name : owner;
    const auto [place, is_new] = places.emplace(name, timings.size());
    if (is_new) timings.push_back({name, kind, 0});
    LayerTiming& timing = timings[place->second];
    // The operation that takes longest names the layer's kind.
    if (!is_new && operation.ns > timing.ns / 2 && !kind.empty()) timing.op = kind;
    timing.ns += operation.ns;
  };
  each_message(reader_of(metadata), run_metadata::step_stats, [&](WireReader step) {
    each_message(step, stats::devices, [&](WireReader device) { each_message(device, stats::nodes, add); });
  });
  return timings;
}

std::vector<TfProduct> tf_products(const TfBuffer& metadata) {
  std::vector<TfProduct> products;
  const auto add = [&](WireReader node) {
    std::string name, op;
    int64_t type = 0;
    while (node.next()) {
      if (node.field() == graph_def::name) name = node.text();
      if (node.field() == graph_def::op) op = node.text();
      if (node.field() == graph_def::attributes) type = std::max(type, type_attribute(node.message()));
    }
    if (multiplies(op)) products.push_back({name, precision_of_type(type)});
  };
  each_message(reader_of(metadata), run_metadata::partition_graphs, [&](WireReader graph) { each_message(graph, graph_def::nodes, add); });
  return products;
}

}  // namespace deepgap
