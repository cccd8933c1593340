#include "worker/quantize_order.h"

#include "base/file.h"
#include "model/onnx_writer.h"
#include "worker/quantized_model.h"
#include "worker/request_json.h"

#include <nlohmann/json.hpp>

#include <chrono>

namespace deepgap {
namespace {

nlohmann::json report_of(const QuantizedModel& result, const Model& model, double seconds) {
  nlohmann::json kept = nlohmann::json::array();
  for (const KeptNode& node : result.kept) kept.push_back({{"name", node.name}, {"op", node.op}, {"reason", node.reason}});
  nlohmann::json nodes = nlohmann::json::array();
  for (const NodeError& node : result.node_errors) nodes.push_back({{"name", node.name}, {"op", node.op}, {"sqnr_db", node.sqnr_db}});
  return {{"model", model.name()},
          {"method", result.table.method},
          {"dataset", result.table.dataset},
          {"calibrated_by", result.calibrated_by},
          {"quantized_nodes", result.quantized_nodes},
          {"kept", std::move(kept)},
          {"nodes", std::move(nodes)},
          {"mac_share", result.int8_mac_share},
          {"output_sqnr_db", result.output_sqnr_db ? nlohmann::json(*result.output_sqnr_db) : nlohmann::json()},
          {"seconds", seconds}};
}

}  // namespace

template <typename V>
void fields(V& visit, QuantizeOrder& order) {
  visit("model", order.model);
  visit("settings", order.settings);
  visit("point_dataset", order.point_dataset);
  visit("threads", order.threads);
  visit("output", order.output);
  visit("table", order.table);
  visit("save_table", order.save_table);
}

nlohmann::json quantize_order_to_json(const QuantizeOrder& order) { return json_of(order); }
QuantizeOrder quantize_order_from_json(const nlohmann::json& json) { return json_to<QuantizeOrder>(json, "order to quantize"); }

nlohmann::json carry_out(const QuantizeOrder& order) {
  const auto begin = std::chrono::steady_clock::now();
  const bool sized = !sized_by_dataset(order.model, order.point_dataset).test_set.empty();
  const auto model = open_model(sized_by_dataset(order.model, sized ? order.point_dataset : order.settings.dataset));
  if (order.output.empty() && has_quantization(model->summary())) return {{"given", true}};
  const CalibrationSamples samples = calibration_samples(order.model, *model, order.settings, order.point_dataset);
  const std::string key = quantized_key(*model, samples, order.settings);
  if (order.output.empty() && find_quantized(order.model.cache_dir, key, model->name()).model) return {{"cached", true}};
  std::optional<CalibrationTable> given;
  if (!order.table.empty()) given = read_table(order.table);
  const QuantizedModel result = quantize_model(*model, samples, order.settings, order.threads, given ? &*given : nullptr);
  if (!order.save_table.empty()) write_table(order.save_table, result.table);
  if (order.output.empty()) {
    keep_quantized(order.model.cache_dir, key, result);
  } else {
    write_file_atomic(order.output, write_onnx(result.graph, result.metadata));
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  return report_of(result, *model, seconds.count());
}

}  // namespace deepgap
