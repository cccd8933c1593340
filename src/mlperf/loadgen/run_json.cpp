#include "mlperf/loadgen/run_json.h"

#include "base/dump_json.h"
#include "base/parse_json.h"
#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <map>

namespace deepgap {
namespace {

using Json = nlohmann::json;
using Reader = std::function<void(const Json& value, LoadgenSettings& settings)>;

struct WrongValue {
  std::string wanted;
};

template <typename T>
T number_of(const Json& value) {
  if constexpr (std::is_same_v<T, double>) {
    if (!value.is_number()) throw WrongValue{"a number"};
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    if (!value.is_number_unsigned()) throw WrongValue{"a whole number from 0 to 2^64 - 1"};
  } else if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{INT64_MAX})) {
    throw WrongValue{"a whole number"};
  }
  return value.get<T>();
}

template <typename T>
Reader number(T LoadgenSettings::*field) {
  return [field](const Json& value, LoadgenSettings& settings) { settings.*field = number_of<T>(value); };
}

Reader flag(bool LoadgenSettings::*field) {
  return [field](const Json& value, LoadgenSettings& settings) {
    const bool one = value == 1;
    if (value.is_boolean()) {
      settings.*field = value.get<bool>();
    } else if (one || value == 0) {
      settings.*field = one;
    } else {
      throw WrongValue{"0, 1, false or true"};
    }
  };
}

template <typename T>
Reader one_of(T LoadgenSettings::*field, const std::map<std::string, T>& known) {
  return [field, known](const Json& value, LoadgenSettings& settings) {
    std::vector<std::string> names;
    for (const auto& [name, meaning] : known) names.push_back(name);
    const auto found = value.is_string() ? known.find(value.get<std::string>()) : known.end();
    if (found == known.end()) throw WrongValue{"one of " + join(names, ", ")};
    settings.*field = found->second;
  };
}

Reader version() {
  return [](const Json& value, LoadgenSettings& settings) {
    if (!value.is_string()) throw WrongValue{"a version such as \"6.0.17\""};
    settings.rules = loadgen_rules(value.get<std::string>());
  };
}

void pass_over(const Json&, LoadgenSettings&) {}

const std::map<std::string, Reader>& readers() {
  using S = LoadgenSettings;
  static const std::map<std::string, Reader> table{
      {"loadgen", version()},
      {"scenario", one_of<LoadgenScenario>(&S::scenario, {{"SingleStream", LoadgenScenario::single_stream},
                                                          {"MultiStream", LoadgenScenario::multi_stream},
                                                          {"Server", LoadgenScenario::server},
                                                          {"Offline", LoadgenScenario::offline}})},
      {"mode",
       one_of<LoadgenMode>(&S::mode,
                           {{"perf", LoadgenMode::performance}, {"acc", LoadgenMode::accuracy}, {"submission", LoadgenMode::submission}})},
      {"qsl_rng_seed", number(&S::qsl_rng_seed)},
      {"sample_index_rng_seed", number(&S::sample_index_rng_seed)},
      {"schedule_rng_seed", number(&S::schedule_rng_seed)},
      {"accuracy_log_rng_seed", number(&S::accuracy_log_rng_seed)},
      {"total_sample_count", number(&S::total_sample_count)},
      {"performance_sample_count", number(&S::performance_sample_count)},
      {"accuracy_sample_count", number(&S::accuracy_sample_count)},
      {"min_duration_ms", number(&S::min_duration_ms)},
      {"max_duration_ms", number(&S::max_duration_ms)},
      {"min_query_count", number(&S::min_query_count)},
      {"max_query_count", number(&S::max_query_count)},
      {"target_qps", number(&S::target_qps)},
      {"expected_latency_ns", number(&S::expected_latency_ns)},
      {"samples_per_query", number(&S::samples_per_query)},
      {"target_latency_percentile", number(&S::target_latency_percentile)},
      {"target_latency_ns", number(&S::target_latency_ns)},
      {"max_async_queries", number(&S::max_async_queries)},
      {"coalesce_queries", flag(&S::coalesce_queries)},
      {"equal_issue", flag(&S::equal_issue)},
      {"issue_unique", flag(&S::issue_unique)},
      {"issue_same", flag(&S::issue_same)},
      {"issue_same_index", number(&S::issue_same_index)},
      {"accuracy_log_sampling_target", number(&S::accuracy_log_sampling_target)},
      {"accuracy_log_probability", number(&S::accuracy_log_probability)},
      {"token_latencies", flag(&S::token_latencies)},
      {"ttft_latency_ns", number(&S::ttft_latency_ns)},
      {"tpot_latency_ns", number(&S::tpot_latency_ns)},
      {"infers_tokens", flag(&S::infers_tokens)},
      {"token_latency_scaling_factor", number(&S::token_latency_scaling_factor)},
      {"issue_calls", pass_over},
      {"samples_issued", pass_over},
      {"rows_recorded", pass_over},
  };
  return table;
}

void read_key(const std::string& key, const Json& value, const std::string& source, LoadgenSettings& settings) {
  const auto reader = readers().find(key);
  if (reader == readers().end()) {
    std::vector<std::string> known;
    for (const auto& [name, unused] : readers()) known.push_back(name);
    throw Error(ErrorKind::input, fmt::format("{}: {}", source, unknown_name("key", key, known)));
  }
  try {
    reader->second(value, settings);
  } catch (const WrongValue& wrong) {
    const std::string shown = dump_ascii_line(value).substr(0, 60);
    throw Error(ErrorKind::input, fmt::format("{}: '{}' is {}; it must be {}", source, key, shown, wrong.wanted));
  } catch (const Error& error) {
    throw Error(ErrorKind::input, fmt::format("{}: '{}': {}", source, key, error.what()));
  }
}

}  // namespace

LoadgenSettings parse_run_json(const std::string& text, const std::string& source) {
  const Json object = parse_json(text);
  if (!object.is_object()) throw Error(ErrorKind::input, fmt::format("{}: it is not a JSON object", source));
  LoadgenSettings settings;
  for (const char* needed : {"scenario", "total_sample_count"}) {
    if (!object.contains(needed)) throw Error(ErrorKind::input, fmt::format("{}: '{}' is missing", source, needed));
  }
  for (const auto& [key, value] : object.items()) read_key(key, value, source, settings);
  return settings;
}

}  // namespace deepgap
