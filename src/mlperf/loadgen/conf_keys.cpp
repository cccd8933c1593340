#include "mlperf/loadgen/conf_keys.h"

#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>

namespace deepgap {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::usage, what); }

uint64_t whole(const std::string& text) {
  const auto value = parse_conf_integer(text);
  if (!value) refuse(fmt::format("'{}' is not a whole number from 0", text));
  return *value;
}

int64_t count(const std::string& text) {
  const uint64_t value = whole(text);
  if (value > uint64_t{INT64_MAX}) refuse(fmt::format("'{}' is too large", text));
  return static_cast<int64_t>(value);
}

bool flag(const std::string& text) {
  if (text != "0" && text != "1") refuse(fmt::format("'{}' is neither 0 nor 1", text));
  return text == "1";
}

double real(const std::string& text) {
  if (const auto integer = parse_conf_integer(text)) return static_cast<double>(*integer);
  const auto value = parse_double(text);
  if (!value) refuse(fmt::format("'{}' is not a number", text));
  return *value;
}

double percent(const std::string& text) {
  const double value = real(text);
  if (!(value > 0 && value < 100)) refuse(fmt::format("'{}' is not between 0 and 100 %", text));
  return value * 0.01;
}

int64_t nanoseconds_of_ms(double ms, const std::string& text) {
  if (!(ms >= 0 && ms <= 1e12)) refuse(fmt::format("'{}' is not a time in ms", text));
  return std::llround(ms * 1e6);
}

bool is_stream(LoadgenScenario scenario) { return scenario == LoadgenScenario::single_stream || scenario == LoadgenScenario::multi_stream; }

// SingleStream and MultiStream: what is expected; Server: the bound, in whole ms.
void set_target_latency(LoadgenSettings& settings, const std::string& text) {
  if (is_stream(settings.scenario)) settings.expected_latency_ns = nanoseconds_of_ms(real(text), text);
  if (settings.scenario == LoadgenScenario::server) settings.target_latency_ns = nanoseconds_of_ms(static_cast<double>(whole(text)), text);
}

void set_mode(LoadgenSettings& settings, const std::string& text) {
  switch (whole(text)) {
    case 0:
      settings.mode = LoadgenMode::submission;
      return;
    case 1:
      settings.mode = LoadgenMode::accuracy;
      return;
    case 2:
      settings.mode = LoadgenMode::performance;
      return;
    case 3:
      refuse("3, finding the peak, is not a mode here: use --find-peak, which also holds to early stopping");
    default:
      refuse(fmt::format("'{}' is not a mode: expected 0 (submission), 1 (accuracy) or 2 (performance)", text));
  }
}

using Setter = std::function<void(LoadgenSettings& settings, const std::string& text)>;

Setter seed(uint64_t LoadgenSettings::*field) {
  return [field](LoadgenSettings& s, const std::string& text) { s.*field = whole(text); };
}
Setter number(int64_t LoadgenSettings::*field) {
  return [field](LoadgenSettings& s, const std::string& text) { s.*field = count(text); };
}
Setter milliseconds(int64_t LoadgenSettings::*field) {
  return [field](LoadgenSettings& s, const std::string& text) { s.*field = nanoseconds_of_ms(static_cast<double>(whole(text)), text); };
}
Setter on_off(bool LoadgenSettings::*field) {
  return [field](LoadgenSettings& s, const std::string& text) { s.*field = flag(text); };
}
// Only looked at in some scenarios.
Setter only_in(const std::vector<LoadgenScenario>& scenarios, const Setter& setter) {
  return [scenarios, setter](LoadgenSettings& s, const std::string& text) {
    for (const LoadgenScenario scenario : scenarios) {
      if (s.scenario == scenario) setter(s, text);
    }
  };
}
Setter pass_over() {
  return [](LoadgenSettings&, const std::string&) {};
}
Setter not_here(const char* why) {
  return [why](LoadgenSettings&, const std::string& text) {
    if (text != "0") refuse(why);
  };
}

struct Key {
  Setter set;
  bool rules_only = false;
};

std::map<std::string, Key> make_keys() {
  using enum LoadgenScenario;
  using S = LoadgenSettings;
  return {
      {"mode", {set_mode}},
      {"qsl_rng_seed", {seed(&S::qsl_rng_seed), true}},
      {"sample_index_rng_seed", {seed(&S::sample_index_rng_seed), true}},
      {"schedule_rng_seed", {seed(&S::schedule_rng_seed), true}},
      {"accuracy_log_probability", {[](S& s, const std::string& text) { s.accuracy_log_probability = percent(text); }, true}},
      {"test05", {not_here("rounds from v5.0 have no TEST05"), true}},
      {"test05_qsl_rng_seed", {pass_over(), true}},
      {"test05_sample_index_rng_seed", {pass_over(), true}},
      {"test05_schedule_rng_seed", {pass_over(), true}},
      {"use_token_latencies", {on_off(&S::token_latencies)}},
      {"infer_token_latencies", {on_off(&S::infers_tokens)}},
      {"ttft_latency", {only_in({server}, milliseconds(&S::ttft_latency_ns))}},
      {"tpot_latency", {only_in({server}, milliseconds(&S::tpot_latency_ns))}},
      {"token_latency_scaling_factor", {number(&S::token_latency_scaling_factor)}},
      {"target_latency_percentile",
       {only_in({single_stream, multi_stream, server},
                [](S& s, const std::string& text) { s.target_latency_percentile = percent(text); })}},
      {"target_latency", {set_target_latency}},
      {"samples_per_query", {only_in({multi_stream}, number(&S::samples_per_query))}},
      {"target_qps", {only_in({server, offline}, [](S& s, const std::string& text) { s.target_qps = real(text); })}},
      {"target_duration", {pass_over()}},  // from older rounds; LoadGen does not look at it
      {"min_duration", {number(&S::min_duration_ms)}},
      {"max_duration", {number(&S::max_duration_ms)}},
      {"min_query_count", {number(&S::min_query_count)}},
      {"max_query_count", {number(&S::max_query_count)}},
      {"performance_sample_count_override", {number(&S::performance_sample_count)}},
      {"accuracy_sample_count_override", {number(&S::accuracy_sample_count)}},
      {"performance_issue_unique", {on_off(&S::issue_unique)}},
      {"performance_issue_same", {on_off(&S::issue_same)}},
      {"performance_issue_same_index", {number(&S::issue_same_index)}},
      {"sample_concatenate_permutation", {on_off(&S::equal_issue)}},
      {"coalesce_queries", {only_in({server}, on_off(&S::coalesce_queries))}},
      {"max_async_queries", {only_in({server}, number(&S::max_async_queries))}},
      {"print_timestamps", {not_here("the times of begin and end are in mlperf_log_detail.txt: leave print_timestamps out")}},
      {"accuracy_log_rng_seed", {seed(&S::accuracy_log_rng_seed)}},
      {"accuracy_log_sampling_target", {number(&S::accuracy_log_sampling_target)}},
  };
}

const std::map<std::string, Key>& keys() {
  static const std::map<std::string, Key> table = make_keys();
  return table;
}

}  // namespace

std::vector<std::string> conf_keys() {
  std::vector<std::string> names;
  for (const auto& [name, key] : keys()) names.push_back(name);
  return names;
}

std::optional<uint64_t> parse_conf_integer(const std::string& text) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  errno = 0;
  char* end = nullptr;
  const uint64_t value = std::strtoull(text.c_str(), &end, 0);
  if (errno != 0 || *end != '\0') return std::nullopt;
  return value;
}

void set_conf_key(LoadgenSettings& settings, const std::string& key, const std::string& value, ConfRole role) {
  const Key& known = keys().at(key);
  if (known.rules_only && role == ConfRole::user)
    refuse("only the round's rules set it: LoadGen reads it from mlperf.conf alone; leave it out");
  known.set(settings, value);
}

}  // namespace deepgap
