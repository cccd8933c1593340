#include "record/record_json.h"

#include "base/byte_text.h"
#include "record/json_fields.h"

namespace deepgap {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

nlohmann::json estimates_to_json(const std::map<std::string, Estimate>& estimates) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [id, estimate] : estimates) {
    nlohmann::json entry = nlohmann::json::object();
    put(entry, "value", estimate.value);
    put(entry, "low", estimate.low);
    put(entry, "high", estimate.high);
    put(entry, "n", estimate.n);
    json[utf8_text(id)] = std::move(entry);
  }
  return json;
}

std::map<std::string, Estimate> estimates_from_json(const nlohmann::json& json) {
  std::map<std::string, Estimate> estimates;
  if (!json.is_object()) Fields(json, "estimates");
  for (const auto& [id, entry] : json.items()) {
    const Fields fields(entry, "estimate");
    Estimate estimate;
    fields.get("value", estimate.value);
    fields.get("low", estimate.low);
    fields.get("high", estimate.high);
    fields.get("n", estimate.n);
    estimates.emplace(id, estimate);
  }
  return estimates;
}

nlohmann::json memory_to_json(const MemoryUse& memory) {
  return {{"reserved_bytes", memory.reserved_bytes}, {"in_use_bytes", memory.in_use_bytes}, {"peak_bytes", memory.peak_bytes}};
}

MemoryUse memory_from_json(const nlohmann::json& json) {
  const Fields fields(json, "device_memory");
  MemoryUse memory;
  fields.get("reserved_bytes", memory.reserved_bytes);
  fields.get("in_use_bytes", memory.in_use_bytes);
  fields.get("peak_bytes", memory.peak_bytes);
  return memory;
}

// The fields that are the same kind on both ways: `visit(key, member)` puts or gets.
template <typename R, typename Visit>
void visit_plain_fields(R& record, const Visit& visit) {
  visit("record_id", record.record_id);
  visit("run_id", record.run_id);
  visit("study", record.study);
  visit("repeat", record.repeat);
  visit("sweep", record.sweep);
  visit("tenant", record.tenant);
  visit("rank", record.rank);
  visit("started_unix_ns", record.started_unix_ns);
  visit("reason", record.reason);
  visit("unchecked", record.unchecked);
  visit("backend_version", record.backend_version);
  visit("dataset_description", record.dataset_description);
  visit("stderr_tail", record.stderr_tail);
  visit("load_s", record.load_s);
  visit("compile_s", record.compile_s);
  visit("first_result_ms", record.first_result_ms);
  visit("host_memory_peak_bytes", record.host_memory_peak_bytes);
  visit("parameters", record.parameters);
  visit("macs_per_item", record.macs_per_item);
  visit("flop_per_item", record.flop_per_item);
  visit("bytes_per_item", record.bytes_per_item);
  visit("warmup_queries", record.warmup_queries);
  visit("timings_dropped", record.timings_dropped);
}

}  // namespace

std::string utf8_text(const std::string& text) {
  std::string valid;
  valid.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_length(text, i);
    valid += length == 0 ? replacement : std::string_view(text).substr(i, length);
    i += length == 0 ? 1 : length;
  }
  return valid;
}

nlohmann::json stopping_to_json(const StoppingSettings& settings) {
  nlohmann::json json = nlohmann::json::object();
  put(json, "name", settings.name);
  put(json, "warmup", settings.warmup);
  put(json, "iterations", settings.iterations);
  put(json, "duration_ns", settings.duration);
  put(json, "interval", settings.interval);
  put(json, "target", settings.target);
  put(json, "budget_ns", settings.budget);
  put(json, "warmup_budget_ns", settings.warmup_budget);
  if (settings.auto_repeats) put(json, "auto_repeats", true);
  if (settings.asked_of_all > 0) put(json, "asked_of_all", settings.asked_of_all);
  return json;
}

StoppingSettings stopping_from_json(const nlohmann::json& json) {
  const Fields fields(json, "stopping");
  StoppingSettings settings;
  fields.get("name", settings.name);
  fields.get("warmup", settings.warmup);
  fields.get("iterations", settings.iterations);
  fields.get("duration_ns", settings.duration);
  fields.get("interval", settings.interval);
  fields.get("target", settings.target);
  fields.get("budget_ns", settings.budget);
  fields.get("warmup_budget_ns", settings.warmup_budget);
  std::optional<bool> by_looks;
  fields.get("auto_repeats", by_looks);
  settings.auto_repeats = by_looks.value_or(false);
  std::optional<double> asked;
  fields.get("asked_of_all", asked);
  settings.asked_of_all = asked.value_or(0);
  return settings;
}

nlohmann::json facts_to_json(const Facts& facts) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [key, fact] : facts) {
    auto& entry = json[utf8_text(key)];
    if (const auto* number = std::get_if<double>(&fact); number != nullptr && !std::isfinite(*number)) {
      entry = "not available: not a finite number";
    } else {
      std::visit([&](const auto& value) { entry = field_to_json(value); }, fact);
    }
  }
  return json;
}

Facts facts_from_json(const nlohmann::json& json) {
  const Fields fields(json, "facts");
  Facts facts;
  for (const auto& [key, value] : json.items()) {
    Fact fact;
    if (value.is_boolean()) {
      fact = value.get<bool>();
    } else if (value.is_number_float()) {
      fact = value.get<double>();
    } else if (value.is_number_integer()) {
      int64_t number = 0;
      fields.get(key.c_str(), number);
      fact = number;
    } else if (value.is_string()) {
      fact = value.get<std::string>();
    } else {
      fields.fail(fmt::format("'{}' is neither number, text, true nor false", key));
    }
    facts.emplace_hint(facts.end(), key, std::move(fact));
  }
  return facts;
}

nlohmann::json check_to_json(const CheckResult& check) {
  nlohmann::json json = nlohmann::json::object();
  put(json, "against", check.against);
  put(json, "samples", check.samples);
  put(json, "max_abs_error", check.max_abs_error);
  put(json, "mean_abs_error", check.mean_abs_error);
  put(json, "sqnr_db", check.sqnr_db);
  put(json, "top1_agreement", check.top1_agreement);
  put(json, "min_sqnr_db", check.min_sqnr_db);
  put(json, "pass", check.pass);
  return json;
}

CheckResult check_from_json(const nlohmann::json& json) {
  const Fields fields(json, "check");
  CheckResult check;
  fields.get("against", check.against);
  fields.get("samples", check.samples);
  fields.get("max_abs_error", check.max_abs_error);
  fields.get("mean_abs_error", check.mean_abs_error);
  fields.get("sqnr_db", check.sqnr_db);
  fields.get("top1_agreement", check.top1_agreement);
  fields.get("min_sqnr_db", check.min_sqnr_db);
  fields.get("pass", check.pass);
  return check;
}

nlohmann::json windows_to_json(const std::vector<Window>& windows) {
  nlohmann::json json = nlohmann::json::array();
  for (const Window& window : windows) {
    json.push_back({{"name", utf8_text(window.name)}, {"begin_ns", window.begin}, {"end_ns", window.end}});
  }
  return json;
}

std::vector<Window> windows_from_json(const nlohmann::json& json) {
  if (!json.is_array()) throw Error(ErrorKind::input, "damaged record: 'windows' is not a list");
  std::vector<Window> windows;
  for (const auto& entry : json) {
    const Fields fields(entry, "window");
    Window& window = windows.emplace_back();
    fields.get("name", window.name);
    fields.get("begin_ns", window.begin);
    fields.get("end_ns", window.end);
  }
  return windows;
}

nlohmann::json record_to_json(const Record& record) {
  nlohmann::json json = nlohmann::json::object();
  visit_plain_fields(record, [&](const char* key, const auto& value) { put(json, key, value); });
  json["outcome"] = name_of(record.outcome);
  json["verdict"] = name_of(record.verdict);
  json["point"] = point_to_json(record.point);
  json["stopping"] = stopping_to_json(record.stopping);
  json["environment"] = facts_to_json(record.environment);
  json["facts"] = facts_to_json(record.facts);
  json["device_memory"] = memory_to_json(record.device_memory);
  if (record.check) json["check"] = check_to_json(*record.check);
  json["windows"] = windows_to_json(record.windows);
  json["estimates"] = estimates_to_json(record.estimates);
  return json;
}

Record record_from_json(const nlohmann::json& json) {
  const Fields fields(json, "record");
  Record record;
  visit_plain_fields(record, [&](const char* key, auto& value) { fields.get(key, value); });
  std::string outcome, verdict;
  fields.get("outcome", outcome);
  fields.get("verdict", verdict);
  const auto known_outcome = outcome_from(outcome);
  const auto known_verdict = verdict_from(verdict);
  if (!known_outcome) fields.fail(fmt::format("unknown outcome '{}'", outcome));
  if (!known_verdict) fields.fail(fmt::format("unknown verdict '{}'", verdict));
  record.outcome = *known_outcome;
  record.verdict = *known_verdict;
  record.point = point_from_json(fields.at("point"));
  record.stopping = stopping_from_json(fields.at("stopping"));
  record.environment = facts_from_json(fields.at("environment"));
  record.facts = facts_from_json(fields.at("facts"));
  record.device_memory = memory_from_json(fields.at("device_memory"));
  if (const auto* check = fields.find("check")) record.check = check_from_json(*check);
  record.windows = windows_from_json(fields.at("windows"));
  record.estimates = estimates_from_json(fields.at("estimates"));
  return record;
}

}  // namespace deepgap
