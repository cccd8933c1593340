// Point and Record as JSON, and their names. The one place that knows how they are spelled in files.
#pragma once

#include <deepgap/record.h>

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace deepgap {

std::string_view name_of(Outcome outcome);
std::string_view name_of(Verdict verdict);
std::optional<Outcome> outcome_from(std::string_view name);
std::optional<Verdict> verdict_from(std::string_view name);

std::string device_name(const DeviceId& device);  // "cpu", "cuda:0", "host/cuda:0"
std::optional<DeviceId> device_from(std::string_view name);
std::string placement_name(const Placement& placement);  // "cpu", "cuda:0+cuda:1"

nlohmann::json point_to_json(const Point& point);   // keys sorted, no defaults left out: canonical
Point point_from_json(const nlohmann::json& json);  // throws Error{input}
std::string point_id(const Point& point);           // 16 hex digits of the canonical JSON's hash

nlohmann::json stopping_to_json(const StoppingSettings& settings);
StoppingSettings stopping_from_json(const nlohmann::json& json);
nlohmann::json facts_to_json(const Facts& facts);
Facts facts_from_json(const nlohmann::json& json);

// Everything but timings and series, which travel and rest as blocks (timing_block.h).
nlohmann::json record_to_json(const Record& record);
Record record_from_json(const nlohmann::json& json);

}  // namespace deepgap
