#include "published/mapping.h"

#include "analysis/metric.h"
#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

constexpr const char* texts[] = {"source",    "task",        "model",   "weights",     "dataset", "backend",  "backend_version", "scenario",
                                 "precision", "device_name", "machine", "device_kind", "study",   "currency", "verdict"};
constexpr const char* counts[] = {"batch", "device_count", "threads", "items", "parameters"};

// Figures that other modules will make metrics of, and published tables have already.
struct Figure {
  const char* name;
  const char* unit;
};
constexpr Figure figures[] = {
    {"throughput_per_device", "1/s"}, {"step_ms", "ms"}, {"dram_gb_per_s", "GB/s"}, {"intensity", "FLOP/byte"}, {"run_power_w", "W"}};

struct UnitScale {
  const char* unit;
  const char* of;  // the quantity, by one of its units
  double size;     // in that unit
};
constexpr double mib = 1 << 20;
constexpr UnitScale scales[] = {{"ns", "s", 1e-9},
                                {"us", "s", 1e-6},
                                {"ms", "s", 1e-3},
                                {"s", "s", 1},
                                {"min", "s", 60},
                                {"h", "s", 3600},
                                {"B", "B", 1},
                                {"KB", "B", 1e3},
                                {"MB", "B", 1e6},
                                {"GB", "B", 1e9},
                                {"KiB", "B", 1024},
                                {"MiB", "B", mib},
                                {"GiB", "B", 1024 * mib},
                                {"1", "1", 1},
                                {"%", "1", 0.01},
                                {"W", "W", 1},
                                {"kW", "W", 1e3},
                                {"J", "J", 1},
                                {"Wh", "J", 3600},
                                {"kWh", "J", 3.6e6},
                                {"1/s", "1/s", 1},
                                {"items/s", "1/s", 1},
                                {"1/min", "1/s", 1.0 / 60},
                                {"MB/s", "B/s", 1e6},
                                {"GB/s", "B/s", 1e9},
                                {"TB/s", "B/s", 1e12},
                                {"GFLOP", "FLOP", 1e9},
                                {"TFLOP", "FLOP", 1e12},
                                {"GFLOP/s", "FLOP/s", 1e9},
                                {"TFLOP/s", "FLOP/s", 1e12},
                                {"FLOP/byte", "FLOP/byte", 1}};

const UnitScale* find_scale(const std::string& unit) {
  const auto* found = std::find_if(std::begin(scales), std::end(scales), [&](const UnitScale& scale) { return unit == scale.unit; });
  return found == std::end(scales) ? nullptr : found;
}

bool among(const auto& names, const std::string& name) { return std::find(std::begin(names), std::end(names), name) != std::end(names); }

std::vector<std::string> known_meanings() {
  std::vector<std::string> names{"ignore"};
  names.insert(names.end(), std::begin(texts), std::end(texts));
  names.insert(names.end(), std::begin(counts), std::end(counts));
  for (const Figure& figure : figures) names.emplace_back(figure.name);
  for (const Metric& metric : all_metrics()) names.push_back(metric.id);
  return names;
}

}  // namespace

Meaning meaning_of(const std::string& name) {
  using enum Meaning::Kind;
  if (name == "ignore") return {name, ignored, {}};
  if (among(texts, name) || name.starts_with("option.")) return {name, text, {}};
  if (among(counts, name)) return {name, count, {}};
  if (const Metric* metric = find_metric(name)) return {name, number, metric->unit};
  for (const Figure& figure : figures) {
    if (name == figure.name) return {name, number, figure.unit};
  }
  if (name.starts_with("metric.") && name.size() > 7) return {name.substr(7), number, {}};
  throw Error(ErrorKind::usage, unknown_name("meaning", name, known_meanings()) + " (option.NAME and metric.NAME take any name)");
}

double unit_factor(const std::string& unit, const Meaning& meaning) {
  const UnitScale *from = find_scale(unit), *to = find_scale(meaning.unit);
  if (meaning.kind != Meaning::Kind::number) throw Error(ErrorKind::usage, fmt::format("'{}' has no unit", meaning.name));
  if (unit == meaning.unit || meaning.unit.empty() || meaning.unit.starts_with("currency")) return 1;
  if (from == nullptr) {
    std::vector<std::string> names;
    for (const UnitScale& scale : scales) names.emplace_back(scale.unit);
    throw Error(ErrorKind::usage, unknown_name("unit", unit, names));
  }
  if (to == nullptr || std::string_view(from->of) != to->of)
    throw Error(ErrorKind::usage, fmt::format("'{}' is kept in {}, which {} does not fit", meaning.name, meaning.unit, unit));
  return from->size / to->size;
}

}  // namespace deepgap
