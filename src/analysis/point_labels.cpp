#include "analysis/point_labels.h"

#include "base/text.h"
#include "record/record_json.h"

#include <fmt/format.h>

#include <map>

namespace deepgap {
namespace {

constexpr const char* device_aspect = "1 device";
constexpr const char* precision_aspect = "2 precision";

}  // namespace

PointLabels::PointLabels(std::span<const PointSummary> points) {
  Side side;
  for (const PointSummary& point : points) side.push_back(&point);
  for (const PointSummary* point : side) devices_.add(*point);
  look_at(side);
}

PointLabels::PointLabels(std::span<const Side> sides) {
  for (const Side& side : sides) {
    for (const PointSummary* point : side) devices_.add(*point);
  }
  for (const Side& side : sides) look_at(side);
}

void PointLabels::look_at(const Side& side) {
  std::map<std::string, Varying> alike;
  for (const PointSummary* point : side) alike[whole(*point, {})].add(all_aspects(*point, devices_));
  for (const auto& [label, members] : alike) shown_.merge(members.names());
}

std::string PointLabels::whole(const PointSummary& summary, const std::set<std::string>& shown) const {
  const Point& point = summary.point;
  std::vector<std::string> parts{point.model, point.backend};
  const std::string place = placement_name(point.placement);
  if (shown.contains(device_aspect)) {
    parts.push_back(devices_.of(summary));
  } else if (place != "cpu") {
    parts.push_back(summary.identity.device.empty() ? place : short_device_name(summary.identity.device));
  }
  if (point.precision != Precision::fp32) parts.push_back(std::string(name_of(point.precision)));
  if (!shown.empty()) {
    for (const auto& [name, value] : all_aspects(summary, devices_)) {
      if (name != device_aspect && name != precision_aspect && shown.contains(name) && !value.empty()) parts.push_back(value);
    }
  }
  parts.push_back(batch_words(point));
  return join(parts, label_separator);
}

std::string PointLabels::of(const PointSummary& point) const { return whole(point, shown_); }

std::string batch_words(const Point& point) { return point.batch > 0 ? fmt::format("batch {}", point.batch) : "no batch"; }

}  // namespace deepgap
