#include "profile/profile_table.h"

#include "base/csv_text.h"
#include "base/text.h"
#include "profile/work_table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>

namespace deepgap {
namespace {

constexpr std::array<const char*, 29> columns{"record_id",
                                              "point_id",
                                              "model",
                                              "backend",
                                              "device",
                                              "precision",
                                              "batch",
                                              "threads",
                                              "layer",
                                              "op",
                                              "operators",
                                              "nodes",
                                              "ms",
                                              "share",
                                              "macs",
                                              "flop",
                                              "bytes",
                                              "roof_ms",
                                              "of_roof",
                                              "bound",
                                              "dram_read_bytes",
                                              "dram_written_bytes",
                                              "fp32_flop",
                                              "tensor_flop",
                                              "dram_gb_per_s",
                                              "gflop_per_s",
                                              "intensity",
                                              "l2_bytes",
                                              "l1_bytes"};

std::string number(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : std::string(); }
std::optional<double> scaled(const std::optional<double>& per_s) { return per_s ? std::optional(*per_s / 1e9) : std::nullopt; }
std::optional<double> bytes_of(const WorkRow& work, const char* name) {
  const MemoryLevel* level = level_of(work, name);
  return level == nullptr ? std::nullopt : std::optional(level->bytes);
}
std::string amount(int64_t value) { return value < 0 ? std::string() : std::to_string(value); }

}  // namespace

std::string profile_table_header() {
  std::string line;
  for (const char* column : columns) line += (line.empty() ? "" : ",") + std::string(column);
  return line + "\n";
}

std::string profile_table_rows(const ProfileOwner& owner, const StoredProfile& stored) {
  const ProfileRows rows = stored.rows();
  const WorkTable counted = work_table(stored.profile, stored.machine.ceilings, stored.header.precision);
  std::string text;
  for (size_t i = 0; i < rows.layers.size(); ++i) {
    const ProfileRow& row = rows.layers[i];
    const ProfiledLayer& layer = stored.profile.layers[i];
    const WorkRow work = i < counted.layers.size() ? counted.layers[i] : WorkRow();
    const std::array<std::string, columns.size()> fields{csv_text(owner.record_id),
                                                         csv_text(owner.point_id),
                                                         csv_text(owner.model),
                                                         csv_text(owner.backend),
                                                         csv_text(stored.header.device),
                                                         csv_text(stored.header.precision),
                                                         std::to_string(stored.header.batch),
                                                         std::to_string(stored.header.threads),
                                                         csv_text(layer.name),
                                                         csv_text(layer.op),
                                                         csv_text(join(layer.operators, "+")),
                                                         csv_text(join(layer.nodes, "+")),
                                                         number(row.seconds * 1e3),
                                                         number(row.share),
                                                         amount(layer.macs),
                                                         amount(layer.flop),
                                                         amount(layer.bytes),
                                                         number(row.roof_seconds ? std::optional(*row.roof_seconds * 1e3) : std::nullopt),
                                                         number(row.of_roof),
                                                         csv_text(row.bound),
                                                         number(work.dram_read_bytes),
                                                         number(work.dram_written_bytes),
                                                         number(work.fp32_flop),
                                                         number(work.tensor_flop),
                                                         number(scaled(work.dram_bytes_per_s())),
                                                         number(scaled(work.flop_per_s())),
                                                         number(work.intensity()),
                                                         number(bytes_of(work, "L2")),
                                                         number(bytes_of(work, "L1"))};
    for (size_t column = 0; column < fields.size(); ++column) text += (column == 0 ? "" : ",") + fields[column];
    text += "\n";
  }
  return text;
}

nlohmann::json owned_profile_json(const ProfileOwner& owner, const StoredProfile& stored) {
  nlohmann::json object = profile_json(stored.header, stored.profile, stored.rows(), stored.machine);
  object["record_id"] = owner.record_id;
  object["point_id"] = owner.point_id;
  object["backend"] = owner.backend;
  object["taken_unix_ns"] = stored.taken_unix_ns;
  object["kept"] = nlohmann::json::parse(stored_profile_text(stored));
  return object;
}

}  // namespace deepgap
