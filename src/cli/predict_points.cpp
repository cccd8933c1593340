#include "cli/predict_points.h"

#include "analysis/point_summary.h"
#include "analysis/predict/measured_rows.h"
#include "base/text.h"
#include "cli/axis_values.h"
#include "cli/stores.h"
#include "model/model_source.h"
#include "record/load_axis.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <tuple>

namespace deepgap {
namespace {

KernelNeeds needs_of(const KernelWork& work) {
  using Kind = KernelNeeds::Kind;
  const Kind kind = work.kind == KernelWork::Kind::convolution ? Kind::convolution
                    : work.kind == KernelWork::Kind::product   ? Kind::product
                                                               : Kind::other;
  return {kind, 2.0 * static_cast<double>(work.macs), static_cast<double>(work.activations), static_cast<double>(work.weights)};
}

// "H100 SXM5" as "h100sxm5".
std::string letters(const std::string& name) {
  std::string kept;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) kept += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return kept;
}

double value_of(const PointSummary& point, const std::string& metric) {
  const MetricSummary* found = point.find(metric);
  return found == nullptr ? 0 : found->estimate.value;
}

std::vector<MeasuredRow> rows_of_stores(const std::string& engine, const std::vector<std::string>& stores) {
  PointCollector collector;
  look_at_stores(stores, false, [&](const Store&, const Record& record) { collector.add(record); });
  std::vector<MeasuredRow> rows;
  for (const PointSummary& summary : collector.summaries()) {
    const Point& point = summary.point;
    const double throughput = value_of(summary, "throughput");
    if (point.backend != engine || unit_of_work(point) != "batch" || !summary.usable() || !(throughput > 0)) continue;
    if (!is_zoo_name(point.model) && !is_model_file(point.model)) continue;  // a file that is elsewhere
    const auto batch = static_cast<double>(point.batch);
    rows.push_back({point.model, summary.identity.device, std::string(name_of(point.precision)), batch, batch / throughput,
                    value_of(summary, "device_memory_mib") * 1048576, value_of(summary, "power_w")});
  }
  return rows;
}

}  // namespace

const NetworkNeeds& Networks::of(const std::string& model, const std::map<std::string, std::vector<int64_t>>& shapes) {
  auto& known = known_[model];
  if (known == nullptr) {
    const NetworkWork work = network_work_of({.name = model, .shapes = shapes});
    NetworkNeeds needs{.inputs = static_cast<double>(work.inputs),
                       .weights = static_cast<double>(work.weights),
                       .live_activations = static_cast<double>(work.live_activations)};
    for (const KernelWork& kernel : work.kernels) needs.kernels.push_back(needs_of(kernel));
    known = std::make_unique<NetworkNeeds>(std::move(needs));
  }
  return *known;
}

const DeviceFigures* Devices::of_driver(const std::string& name) {
  const auto sheet = data_sheet_of(name);
  return sheet ? &figures(*sheet) : nullptr;
}

const DeviceFigures& Devices::figures(const DataSheet& sheet) {
  auto& known = known_[sheet.variant];
  if (known == nullptr) {
    known = std::make_unique<DeviceFigures>(DeviceFigures{.name = sheet.variant,
                                                          .architecture = sheet.architecture,
                                                          .flop_per_s = sheet.flop_per_s,
                                                          .bytes_per_s = sheet.memory_bytes_per_s});
    if (sheet.memory_bytes > 0) known->memory_bytes = sheet.memory_bytes;
    if (sheet.power_w > 0) known->power_w = sheet.power_w;
  }
  return *known;
}

const DataSheet& Devices::named(const std::string& name, const std::vector<MeasuredPoint>& measured) const {
  const std::string asked = letters(name);
  const DataSheet* first = nullptr;
  std::vector<std::string> variants;
  for (const DataSheet& sheet : data_sheets()) {
    variants.push_back(sheet.variant);
    const std::string variant = letters(sheet.variant);
    if (variant == asked) return sheet;
    // "a10" is no A100.
    if (asked.empty() || !variant.starts_with(asked) || std::isdigit(static_cast<unsigned char>(variant[asked.size()])) != 0) continue;
    const bool known =
        std::any_of(measured.begin(), measured.end(), [&](const MeasuredPoint& point) { return point.device == sheet.variant; });
    if (known) return sheet;
    if (first == nullptr) first = &sheet;
  }
  if (first != nullptr) return *first;
  throw Error(ErrorKind::usage, fmt::format("--device {}: no data sheet of that name; known are {}", name, join(variants, ", ")));
}

std::vector<MeasuredPoint> measured_points(const std::string& engine, const std::vector<std::string>& stores, Networks& networks,
                                           Devices& devices) {
  std::map<std::tuple<std::string, std::string, std::string, double>, MeasuredPoint> points;
  std::vector<MeasuredRow> rows = measured_rows(engine);
  for (MeasuredRow& row : stores.empty() ? std::vector<MeasuredRow>() : rows_of_stores(engine, stores)) rows.push_back(std::move(row));
  for (const MeasuredRow& row : rows) {
    const DeviceFigures* figures = devices.of_driver(row.device);
    if (figures == nullptr || !figures->flop_per_s.contains(row.precision)) continue;
    points[{row.model, figures->name, row.precision, row.batch}] = {.model = row.model,
                                                                    .device = figures->name,
                                                                    .precision = row.precision,
                                                                    .batch = row.batch,
                                                                    .seconds = row.seconds,
                                                                    .memory_bytes = row.memory_bytes,
                                                                    .power_w = row.power_w,
                                                                    .network = &networks.of(row.model),
                                                                    .figures = figures};
  }
  std::vector<MeasuredPoint> list;
  for (auto& [key, point] : points) list.push_back(std::move(point));
  return list;
}

}  // namespace deepgap
