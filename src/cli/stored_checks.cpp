#include "cli/stored_checks.h"

#include "analysis/point_labels.h"
#include "analysis/point_summary.h"
#include "analysis/words.h"
#include "base/console.h"
#include "base/dump_json.h"
#include "base/words.h"
#include "cli/command.h"
#include "cli/selection.h"
#include "cli/stores.h"
#include "record/record_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>

namespace deepgap {
namespace {

// Returns nullopt if nothing was compared, and so nothing failed either.
std::optional<bool> pass_of(const PointSummary& point) {
  if (point.outcome == Outcome::incorrect) return false;
  if (!point.check) return std::nullopt;
  return point.check->pass;
}

nlohmann::json finite(double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(); }

nlohmann::json row_of(const PointSummary& point) {
  nlohmann::json row{{"point_id", point.point_id},
                     {"model", point.point.model},
                     {"backend", point.point.backend},
                     {"device", placement_name(point.point.placement)},
                     {"device_name", point.identity.device},
                     {"precision", name_of(point.point.precision)},
                     {"batch", point.point.batch},
                     {"options", options_text(point.point)},
                     {"records", point.records},
                     {"incorrect", point.count(Outcome::incorrect)},
                     {"unchecked", point.unchecked},
                     {"pass", nullptr}};
  if (const auto pass = pass_of(point)) row["pass"] = *pass;
  if (!point.check) return row;
  row["against"] = point.check->against;
  row["samples"] = point.check->samples;
  row["max_abs_error"] = finite(point.check->max_abs_error);
  row["mean_abs_error"] = finite(point.check->mean_abs_error);
  row["sqnr_db"] = finite(point.check->sqnr_db);
  row["min_sqnr_db"] = nullptr;
  row["top1_agreement"] = nullptr;
  if (point.check->min_sqnr_db) row["min_sqnr_db"] = *point.check->min_sqnr_db;
  if (point.check->top1_agreement) row["top1_agreement"] = *point.check->top1_agreement;
  return row;
}

std::string line_of(const PointSummary& point, const std::string& label) {
  const auto pass = pass_of(point);
  std::string line = fmt::format("{}  {}", !pass ? "unchecked" : *pass ? "agrees   " : "DIFFERS  ", label);
  if (point.check) line += fmt::format(": {:.1f} dB against {}", point.check->sqnr_db, point.check->against);
  if (point.check && !point.check->pass && point.check->min_sqnr_db) line += fmt::format(" (at least {:g} dB)", *point.check->min_sqnr_db);
  if (point.check && point.check->top1_agreement) line += ", top-1 " + format_percent(*point.check->top1_agreement);
  return line;
}

}  // namespace

bool is_store_file(const std::string& path) {
  constexpr std::string_view magic = "SQLite format 3";
  std::string begin(magic.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  return file.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin == magic;
}

int print_stored_checks(const std::vector<std::string>& stores, const Selection& selection, bool json) {
  PointCollector collector;
  look_at_selected(stores, selection, false, [&](const Store&, const Record& record) { collector.add(record); });
  nlohmann::json rows = nlohmann::json::array();
  bool any = false, all = true;
  const std::vector<PointSummary> points = collector.summaries();
  const PointLabels labels(points);
  for (const PointSummary& point : points) {
    const auto pass = pass_of(point);
    any = any || pass;
    all = all && pass.value_or(true);
    if (json) {
      rows.push_back(row_of(point));
    } else {
      print_text(printable(line_of(point, labels.of(point))) + "\n");
    }
  }
  if (json) fmt::print("{}", dump_indented(nlohmann::json{{"stores", stores}, {"points", rows}, {"pass", any && all}}));
  return any && all ? exit_ok : exit_points_failed;
}

}  // namespace deepgap
