#include "backends/tensorflow/tf_settings.h"

#include "backends/common/quantized_file.h"
#include "backends/tensorflow/tf_operators.h"
#include "backends/tensorflow/tf_saved_model.h"
#include "model/wire.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>
#include <system_error>

namespace deepgap {
namespace {

// Fields of TensorFlow's messages, from its config.proto and rewriter_config.proto.
namespace config_field {
constexpr uint32_t intra_op_threads = 2, inter_op_threads = 5, graph_options = 10;
}
namespace graph_options_field {
constexpr uint32_t rewrite_options = 10;
}
namespace rewriter_field {
constexpr uint32_t disable_meta_optimizer = 19, meta_optimizer_iterations = 12, min_graph_nodes = 17, mixed_bfloat16 = 31;
constexpr int64_t on = 1;
}  // namespace rewriter_field

OptionTable<TfSettings> make_table() {
  constexpr int64_t most_at_a_time = 1024;
  OptionTable<TfSettings> table("tensorflow");
  table.on_off("xla", "on: XLA compiles the graph, in clusters; off: its operators run one by one, fused by Grappler", &TfSettings::xla)
      .process_wide();
  table.on_off("grappler", "on: Grappler fuses and folds operators before they run; off: the graph runs as it was made",
               &TfSettings::optimizes);
  table.on_off("onednn", "on: kernels of oneDNN are used where there are some; off: Eigen's alone", &TfSettings::onednn).process_wide();
  table.count("inter_op", "operators computed at a time, each on all threads", &TfSettings::inter_op, 1, most_at_a_time).process_wide();
  table.row({"package", "the folder of a SavedModel of the same network, run instead of the graph", ""},
            [](TfSettings& settings, const std::string& path) {
              std::error_code error;
              if (!path.empty() && !std::filesystem::is_regular_file(std::filesystem::path(path) / "saved_model.pb", error))
                throw Error(ErrorKind::usage, fmt::format("tensorflow: package '{}' is not a SavedModel: it has no saved_model.pb", path));
              settings.package = path;
            });
  table.text("signature", "the signature of the SavedModel that is run", &TfSettings::signature);
  return table;
}

std::string precision_refusal(Precision precision) {
  if (precision == Precision::fp32) return {};
  if (precision == Precision::bf16 || precision == Precision::mixed) return tf_bf16_defect(__builtin_cpu_supports("avx512f") != 0);
  if (precision == Precision::int8)
    return "precision int8 is not supported: TensorFlow's graphs have no INT8 convolutions that quantized ONNX files lead to";
  return fmt::format("precision {} is not supported on the CPU, only fp32, bf16 and mixed", name_of(precision));
}

// Returns what a step of training does not do here.
std::string train_refusal(const EngineRequest& request, const TfSettings& settings) {
  if (!settings.package.empty()) return "a SavedModel does not train: leave tensorflow.package out";
  if (request.precision != Precision::fp32) return fmt::format("trains in fp32 only, not in {}", name_of(request.precision));
  if (request.train.accumulation != 1) return "accumulation is not computed: leave it at 1";
  if (request.train.loss_scale != 0 && request.train.loss_scale != 1) return "loss_scale is not computed, which fp32 does not need";
  return {};
}

}  // namespace

const OptionTable<TfSettings>& tf_options() {
  static const OptionTable<TfSettings> table = make_table();
  return table;
}

std::string tf_bf16_defect(bool has_avx512) {
  return has_avx512 ? "" : "precisions bf16 and mixed need AVX-512, which this CPU does not have: TensorFlow would compute in FP32";
}

TfSettings tf_settings(const EngineRequest& request) {
  TfSettings settings = tf_options().parse(request.options);
  settings.threads = request.threads;
  settings.mixed = request.precision == Precision::bf16 || request.precision == Precision::mixed;
  return settings;
}

std::string tf_refusal(const EngineRequest& request, const GraphSummary& graph) {
  const TfSettings settings = tf_settings(request);  // throws for values that cannot be read
  if (settings.package.empty() && settings.signature != TfSettings{}.signature)
    throw Error(ErrorKind::usage, "tensorflow: signature is that of a SavedModel: give tensorflow.package, or --model DIR:signature=NAME");
  const Placement& placement = request.placement;
  if (placement.processes != 1 || placement.devices.size() != 1 || request.train.ranks != 1) return "one process and one device only";
  if (request.task == Task::train)
    if (std::string refusal = train_refusal(request, settings); !refusal.empty()) return refusal;
  const DeviceId& device = placement.devices.front();
  if (device.kind != "cpu" || device.index != 0)
    return fmt::format("device {}:{} is not supported, only the CPU", device.kind, device.index);
  if (std::string refusal = precision_refusal(request.precision); !refusal.empty()) return refusal;
  if (settings.mixed && !settings.optimizes) return "bf16 and mixed are made by Grappler: leave tensorflow.grappler on";
  if (settings.mixed && !settings.onednn) return "bf16 and mixed are computed by oneDNN: leave tensorflow.onednn on";
  if (is_saved_model(graph)) {
    if (request.task == Task::train) return "a SavedModel does not train";
    return settings.package.empty() ? "" : "the model is a SavedModel already: leave tensorflow.package out";
  }
  return settings.package.empty() ? tf_operator_refusal(graph) : "";
}

std::string tf_config(const TfSettings& settings) {
  std::string rewriter;
  WireWriter rewriter_fields(rewriter);
  rewriter_fields.integer(rewriter_field::min_graph_nodes, -1);  // graphs of any size are optimized, also those of a few nodes
  if (!settings.optimizes) rewriter_fields.integer(rewriter_field::disable_meta_optimizer, 1);
  if (settings.mixed) rewriter_fields.integer(rewriter_field::mixed_bfloat16, rewriter_field::on);
  std::string graph_options;
  WireWriter(graph_options).bytes(graph_options_field::rewrite_options, rewriter);
  std::string config;
  WireWriter fields(config);
  fields.integer(config_field::intra_op_threads, settings.threads);
  fields.integer(config_field::inter_op_threads, settings.inter_op);
  fields.bytes(config_field::graph_options, graph_options);
  return config;
}

void set_tf_environment(const TfSettings& settings) {
  // The level in a ConfigProto alone compiles nothing on a CPU.
  if (settings.xla) ::setenv("TF_XLA_FLAGS", "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit --tf_xla_min_cluster_size=1", 1);
  ::setenv("TF_ENABLE_ONEDNN_OPTS", settings.onednn ? "1" : "0", 1);
}

}  // namespace deepgap
