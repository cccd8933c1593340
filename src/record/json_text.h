// Parts of a record in JSON that other structs have as well.
#pragma once

#include "base/json_fields.h"
#include "record/record_json.h"

#include <string>
#include <string_view>

namespace deepgap {

// The same with U+FFFD for each byte that is no part of valid UTF-8, so that dump() never throws.
nlohmann::json valid_utf8(nlohmann::json json);

template <>
struct JsonText<Outcome> {
  static std::string_view text(Outcome outcome) { return name_of(outcome); }
  static std::optional<Outcome> parse(std::string_view text) { return outcome_from(text); }
};
template <>
struct JsonText<Verdict> {
  static std::string_view text(Verdict verdict) { return name_of(verdict); }
  static std::optional<Verdict> parse(std::string_view text) { return verdict_from(text); }
};
template <>
struct JsonText<Precision> {
  static std::string_view text(Precision precision) { return name_of(precision); }
  static std::optional<Precision> parse(std::string_view text) { return precision_from(text); }
};
template <>
struct JsonText<DeviceId> {
  static std::string text(const DeviceId& device) { return device_name(device); }
  static std::optional<DeviceId> parse(std::string_view text) { return device_from(text); }
};

template <>
struct JsonForm<Point> {
  static nlohmann::json json(const Point& point) { return point_to_json(point); }
  static void read(const nlohmann::json& json, const JsonPlace& /*place*/, Point& point) { point = point_from_json(json); }
};

template <typename V>
void fields(V& visit, StoppingSettings& settings) {
  visit("name", settings.name);
  visit("warmup", settings.warmup);
  visit("iterations", settings.iterations);
  visit("duration_ns", settings.duration);
  visit("interval", settings.interval);
  visit("target", settings.target);
  visit("budget_ns", settings.budget);
  visit("warmup_budget_ns", settings.warmup_budget);
  visit("auto_repeats", unless_default(settings.auto_repeats));
  visit("asked_of_all", unless_default(settings.asked_of_all));
}

}  // namespace deepgap
