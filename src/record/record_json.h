// Point and Record as JSON, and their names. The one place that knows how they are spelled in files. docs/reference/database.md describes
// them. Pure functions; any thread. Reading throws Error{input} "damaged ...: what is wrong"; keys it does not know are passed over, so
// that a later version may add some. Text that is not UTF-8 (the end of a crashed engine's stderr) is written with U+FFFD for its bad
// bytes, so that dump() of what is made here never throws.
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

std::string device_name(const DeviceId& device);  // "cpu", "cuda:0", "host/cuda:0", "http://host:8000"
std::optional<DeviceId> device_from(std::string_view name);
std::string placement_name(const Placement& placement);  // "cpu", "cuda:0+cuda:1"; "2p:cuda:0+cuda:1" is two processes
std::optional<Placement> placement_from(std::string_view name);

// The options as exports show them: key=value sorted by key, joined by ';'.
std::string options_text(const Point& point);

nlohmann::json point_to_json(const Point& point);   // keys sorted, no defaults left out: canonical
Point point_from_json(const nlohmann::json& json);  // throws Error{input}
Point without_paths(Point point);                   // files of the model and of the samples are their content (model_hash, dataset_hash)
std::string point_id(const Point& point);           // 16 hex digits of the hash of its canonical JSON without that path

nlohmann::json stopping_to_json(const StoppingSettings& settings);
StoppingSettings stopping_from_json(const nlohmann::json& json);
nlohmann::json facts_to_json(const Facts& facts);
Facts facts_from_json(const nlohmann::json& json);

// Everything but timings and series, which travel and rest as blocks (timing_block.h).
nlohmann::json record_to_json(const Record& record);
Record record_from_json(const nlohmann::json& json);

}  // namespace deepgap
