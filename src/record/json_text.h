// Parts of a record in JSON that other structs have as well.
#pragma once

#include "base/json_fields.h"
#include "record/record_json.h"

#include <string>
#include <string_view>

namespace deepgap {

// Returns the same with U+FFFD for each byte that is no part of valid UTF-8, so that dump() never throws.
nlohmann::json valid_utf8(nlohmann::json json);

// The text of an enum is its name_of(), which `from` reads.
template <typename T, std::optional<T> (*from)(std::string_view)>
struct NamedText {
  static std::string_view text(T value) { return name_of(value); }
  static std::optional<T> parse(std::string_view text) { return from(text); }
};
template <>
struct JsonText<Outcome> : NamedText<Outcome, outcome_from> {};
template <>
struct JsonText<Verdict> : NamedText<Verdict, verdict_from> {};
template <>
struct JsonText<Precision> : NamedText<Precision, precision_from> {};
template <>
struct JsonText<Task> : NamedText<Task, task_from> {};
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
