#include "profile/show.h"

#include "ceilings/data_sheet.h"
#include "profile/explanations.h"
#include "profile/show_trace.h"
#include "profile/work_table.h"

#include <nlohmann/json.hpp>

namespace deepgap {
namespace {

using nlohmann::json;

json optional(const std::optional<double>& value, double unit = 1) { return value ? json(*value * unit) : json(nullptr); }
json count(int64_t value) { return value < 0 ? json(nullptr) : json(value); }

json row_json(const ProfileRow& row) {
  return {{"name", row.name},
          {"ms", row.seconds * 1e3},
          {"share", row.share},
          {"flop_per_s", optional(row.flop_per_s)},
          {"bytes", optional(row.bytes)},
          {"roof_ms", optional(row.roof_seconds, 1e3)},
          {"of_roof", optional(row.of_roof)}};
}

json layer_json(const ProfileRow& row, const ProfiledLayer& layer) {
  json object = row_json(row);
  object["op"] = layer.op;
  object["nodes"] = layer.nodes;
  object["operators"] = layer.operators;
  object["precision"] = layer.precision;
  object["macs"] = count(layer.macs);
  object["flop"] = count(layer.flop);
  object["bytes"] = count(layer.bytes);
  object["bound"] = row.bound.empty() ? json(nullptr) : json(row.bound);
  return object;
}

}  // namespace

json data_sheet_json(const Ceilings& ceilings) {
  const auto sheet = ceilings.gpu ? data_sheet_of(ceilings.gpu->device) : std::nullopt;
  if (!sheet) return nullptr;
  return {{"device", sheet->variant},
          {"flop_per_s", sheet->flop_per_s},
          {"memory_bytes_per_s", sheet->memory_bytes_per_s},
          {"power_w", sheet->power_w},
          {"source", sheet->source}};
}

json profile_json(const ProfileHeader& header, const LayerProfile& profile, const ProfileRows& rows, const ShownCeilings& machine) {
  json layers = json::array(), operators = json::array(), bounds = json::object();
  for (size_t i = 0; i < rows.layers.size(); ++i) layers.push_back(layer_json(rows.layers[i], profile.layers[i]));
  for (const ProfileRow& group : rows.groups) {
    operators.push_back(row_json(group));
    operators.back()["layers"] = group.layers;
  }
  for (const auto& [bound, share] : rows.bounds) bounds[bound.empty() ? "unknown" : bound] = share;
  json explanations = json::array();
  for (const Explanation& one : explain(header, profile, rows, machine))
    explanations.push_back({{"id", one.id}, {"finding", one.head}, {"evidence", one.evidence}});
  json all = row_json(rows.all);
  all.erase("name");
  all["layers"] = rows.all.layers;
  return {{"model", header.model},
          {"engine", profile.engine},
          {"precision", header.precision},
          {"batch", header.batch},
          {"device", header.device},
          {"threads", header.threads},
          {"rounds", profile.rounds},
          {"whole_ms", rows.whole_seconds * 1e3},
          {"whole_after_ms", profile.whole_after_ns > 0 ? json(static_cast<double>(profile.whole_after_ns) / 1e6) : json(nullptr)},
          {"between_layers_ms", rows.between_seconds * 1e3},
          {"copies_ms", rows.copied_seconds * 1e3},
          {"sum", all},
          {"bounds", bounds},
          {"layers", layers},
          {"by_operator", operators},
          {"left_over", profile.left_over},
          {"notes", rows.notes},
          {"ceilings", machine.missing.empty() ? ceilings_to_json(machine.ceilings) : json(nullptr)},
          {"device_work", trace_summary_json(profile)},
          {"device_work_missing", profile.trace_missing.empty() ? json(nullptr) : json(profile.trace_missing)},
          {"times_of_kernels", profile.times_of_kernels},
          {"device_counters", work_json(profile, work_table(profile, machine.ceilings, header.precision))},
          {"findings", explanations},
          {"cpu_counters", {{"counts", profile.cpu.counts}, {"missing", profile.cpu.missing}}},
          {"data_sheet", data_sheet_json(machine.ceilings)},
          {"ceilings_missing", machine.missing.empty() ? json(nullptr) : json(machine.missing)},
          {"ceilings_measured_now", machine.measured}};
}

}  // namespace deepgap
