#include "record/json_text.h"

namespace deepgap {

template <>
struct JsonForm<Facts> {
  static nlohmann::json json(const Facts& facts) { return facts_to_json(facts); }
  static void read(const nlohmann::json& json, const JsonPlace& /*place*/, Facts& facts) { facts = facts_from_json(json); }
};

template <typename V>
void fields(V& visit, Estimate& estimate) {
  visit("value", estimate.value);
  visit("low", estimate.low);
  visit("high", estimate.high);
  visit("n", estimate.n);
}

template <typename V>
void fields(V& visit, MemoryUse& memory) {
  visit("reserved_bytes", memory.reserved_bytes);
  visit("in_use_bytes", memory.in_use_bytes);
  visit("peak_bytes", memory.peak_bytes);
}

template <typename V>
void fields(V& visit, Window& window) {
  visit("name", window.name);
  visit("begin_ns", window.begin);
  visit("end_ns", window.end);
}

template <typename V>
void fields(V& visit, CheckResult& check) {
  visit("against", check.against);
  visit("samples", check.samples);
  visit("max_abs_error", check.max_abs_error);
  visit("mean_abs_error", check.mean_abs_error);
  visit("sqnr_db", check.sqnr_db);
  visit("top1_agreement", check.top1_agreement);
  visit("min_sqnr_db", check.min_sqnr_db);
  visit("pass", check.pass);
}

template <typename V>
void fields(V& visit, Record& record) {
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
  visit("outcome", record.outcome);
  visit("verdict", record.verdict);
  visit("point", record.point);
  visit("stopping", record.stopping);
  visit("environment", record.environment);
  visit("facts", record.facts);
  visit("device_memory", record.device_memory);
  visit("check", record.check);
  visit("windows", record.windows);
  visit("estimates", record.estimates);
}

nlohmann::json valid_utf8(nlohmann::json json) {
  if (json.is_string()) return utf8_text(json.get_ref<const std::string&>());
  if (json.is_array())
    for (nlohmann::json& part : json) part = valid_utf8(std::move(part));
  if (!json.is_object()) return json;
  auto object = nlohmann::json::object();
  for (auto& [key, part] : json.items()) object[utf8_text(key)] = valid_utf8(std::move(part));
  return object;
}

nlohmann::json stopping_to_json(const StoppingSettings& settings) { return valid_utf8(json_of(settings)); }
StoppingSettings stopping_from_json(const nlohmann::json& json) { return json_to<StoppingSettings>(json, "stopping"); }

nlohmann::json facts_to_json(const Facts& facts) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [key, fact] : facts) {
    auto& entry = json[key];
    if (const auto* number = std::get_if<double>(&fact); number != nullptr && !std::isfinite(*number)) {
      entry = "not available: not a finite number";
    } else {
      std::visit([&](const auto& value) { entry = json_of(value); }, fact);
    }
  }
  return valid_utf8(std::move(json));
}

Facts facts_from_json(const nlohmann::json& json) {
  const JsonPlace whole{nullptr, "facts"};
  if (!json.is_object()) whole.fail("is not a JSON object");
  Facts facts;
  for (const auto& [key, value] : json.items()) {
    const JsonPlace place{&whole, key};
    Fact fact;
    if (value.is_boolean()) {
      fact = value.get<bool>();
    } else if (value.is_number_float()) {
      fact = value.get<double>();
    } else if (value.is_number_integer()) {
      read_json(value, place, fact.emplace<int64_t>());
    } else if (value.is_string()) {
      fact = value.get<std::string>();
    } else {
      place.fail("is neither number, text, true nor false");
    }
    facts.emplace_hint(facts.end(), key, std::move(fact));
  }
  return facts;
}

nlohmann::json record_to_json(const Record& record) { return valid_utf8(json_of(record)); }
Record record_from_json(const nlohmann::json& json) { return json_to<Record>(json, "record"); }

}  // namespace deepgap
