#include "backends/null/script.h"

#include "backends/common/option_table.h"
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

namespace deepgap {
namespace {

[[noreturn]] void wrong(const std::string& option, const std::string& value, const std::string& expected) {
  throw Error(ErrorKind::usage, fmt::format("null: {}={} is wrong, expected {}", option, value, expected));
}

Nanoseconds time(const std::string& option, const std::string& value) {
  const auto parsed = parse_duration(value);
  if (!parsed) wrong(option, value, "a time such as 1ms");
  return *parsed;
}

double within(const std::string& option, const std::string& value, double low, double high) {
  const auto parsed = parse_double(value);
  if (!parsed || *parsed < low || *parsed > high) wrong(option, value, fmt::format("a number from {} to {}", low, high));
  return *parsed;
}

QuerySet queries(const std::string& option, const std::string& value) {
  constexpr const char* expected = "query numbers such as 3 or 3/7/10-12";
  QuerySet set;
  for (const std::string& part : split(value, '/')) {
    const auto ends = split(part, '-');
    const auto first = parse_int(ends.front());
    const auto last = parse_int(ends.back());
    if (ends.size() > 2 || !first || !last || *first < 0 || *last < *first) wrong(option, value, expected);
    set.add(static_cast<uint64_t>(*first), static_cast<uint64_t>(*last));
  }
  return set;
}

std::vector<ScriptStep> steps(const std::string& option, const std::string& value) {
  std::vector<ScriptStep> result;
  for (const std::string& part : split(value, '/')) {
    const auto pair = split(part, ':');
    const auto query = parse_int(pair.front());
    const auto latency = parse_duration(pair.back());
    const bool rising = result.empty() || (query && *query > static_cast<int64_t>(result.back().query));
    if (pair.size() != 2 || !query || *query < 0 || !latency || !rising) {
      wrong(option, value, "rising QUERY:LATENCY pairs such as 100:2ms/200:4ms");
    }
    result.push_back({static_cast<uint64_t>(*query), *latency});
  }
  return result;
}

constexpr double any = 1e12;

// The table says how each option is listed and how it is read.
OptionTable<NullScript> make_table() {
  using Script = NullScript&;
  using Text = const std::string&;
  using enum OptionKind;
  OptionTable<NullScript> table("null");
  const auto row = [&](const char* name, const char* describe, const char* otherwise, OptionKind kind,
                       const std::function<void(NullScript&, Text name, Text value)>& read) {
    table.row({name, describe, otherwise, false, kind, {}, 0},
              [read, option = std::string(name)](Script s, Text value) { read(s, option, value); });
  };
  row("latency", "time of a query; 0ns completes inside enqueue", "1ms", duration,
      [](Script s, Text n, Text v) { s.latency = time(n, v); });
  row("per_sample", "time added for each sample of the query", "0ns", duration,
      [](Script s, Text n, Text v) { s.per_sample = time(n, v); });
  // drift and steps are shapes of their own in the user's words; to the source they are a constant with that option set.
  table.choice<Distribution>("distribution", "constant, normal, lognormal, exponential, ar1, drift or steps", &NullScript::distribution,
                             {{"constant", Distribution::constant},
                              {"normal", Distribution::normal},
                              {"lognormal", Distribution::lognormal},
                              {"exponential", Distribution::exponential},
                              {"ar1", Distribution::ar1},
                              {"drift", Distribution::constant},
                              {"steps", Distribution::constant}});
  row("sigma", "spread relative to the latency (normal, ar1), of the logarithm (lognormal)", "0.1", number,
      [](Script s, Text n, Text v) { s.sigma = within(n, v, 0, 100); });
  row("rho", "correlation of one latency with the next (ar1)", "0.5", number,
      [](Script s, Text n, Text v) { s.rho = within(n, v, -0.9999, 0.9999); });
  row("process_sigma", "spread from process to process, of the logarithm: all latencies of one share a factor", "0", number,
      [](Script s, Text n, Text v) { s.process_sigma = within(n, v, 0, 10); });
  row("drift", "relative growth of the latency a second", "0", number, [](Script s, Text n, Text v) { s.drift = within(n, v, -any, any); });
  row("steps", "QUERY:LATENCY pairs joined by '/': the latency from that query on", "", text,
      [](Script s, Text n, Text v) { s.steps = steps(n, v); });
  row("token_interval", "task generate: time between two deliveries of tokens; latency is the time to the first", "10ms", duration,
      [](Script s, Text n, Text v) { s.token_interval = time(n, v); });
  table.count("chunk_tokens", "task generate: tokens that come together", &NullScript::chunk_tokens, 1 << 20);
  row("cached_tokens", "task generate: tokens of each prompt that it claims to have had in a cache", "0", count,
      [](Script s, Text, Text v) { s.cached_tokens = *parse_int(v); });
  row("counted_share", "task generate: output tokens that it claims to have counted, over those delivered", "1", number,
      [](Script s, Text n, Text v) { s.counted_share = within(n, v, 0, 10); });
  row("reasoning_tokens", "task generate: the first tokens that are reasoning", "0", count,
      [](Script s, Text, Text v) { s.reasoning_tokens = *parse_int(v); });
  table.count("concurrency", "queries served at once", &NullScript::concurrency, 1 << 20);
  row("seed", "of latencies and failures; each repeat draws a stream of its own from it", "1", count,
      [](Script s, Text, Text v) { s.seed = static_cast<uint64_t>(*parse_int(v)); });
  table.choice<bool>("clock", "real; virtual: time jumps from one event to the next, so that a run takes no time and measures nothing",
                     &NullScript::virtual_time, {{"real", false}, {"virtual", true}});
  table.on_off("outlive_failures", "whether a run goes on when a query failed, as with a server", &NullScript::outlives_failures);
  row("load_time", "time that loading takes", "0ns", duration, [](Script s, Text n, Text v) { s.load_time = time(n, v); });
  row("memory_bytes", "memory that the session claims to hold", "", count, [](Script s, Text, Text v) { s.memory_bytes = parse_int(v); });
  row("allocate_bytes", "memory that is really taken and touched at load", "", count,
      [](Script s, Text, Text v) { s.allocate_bytes = parse_int(v); });
  row("stderr", "text written to standard error at load", "", text, [](Script s, Text, Text v) { s.stderr_text = v; });
  row("fail_at", "queries that fail", "", text, [](Script s, Text n, Text v) { s.fail_at = queries(n, v); });
  row("fail_rate", "share of queries that fail", "0", number, [](Script s, Text n, Text v) { s.fail_rate = within(n, v, 0, 1); });
  row("hang_at", "queries that are never completed", "", text, [](Script s, Text n, Text v) { s.hang_at = queries(n, v); });
  row("crash_at", "queries that end the process by a segmentation fault", "", text,
      [](Script s, Text n, Text v) { s.crash_at = queries(n, v); });
  row("exit_at", "queries that end the process with exit code 9", "", text, [](Script s, Text n, Text v) { s.exit_at = queries(n, v); });
  row("sigkill_at", "queries that end the process by SIGKILL", "", text, [](Script s, Text n, Text v) { s.sigkill_at = queries(n, v); });
  row("device_lost_at", "queries that lose the device", "", text, [](Script s, Text n, Text v) { s.device_lost_at = queries(n, v); });
  table.row({"oom_at_load", "smallest batch that is out of memory at load", "", false, count},
            [](Script s, Text v) { s.oom_at_load = parse_int(v); });
  row("refuse", "reason with which load refuses", "", text, [](Script s, Text, Text v) { s.refuse = v; });
  return table;
}

const OptionTable<NullScript>& table() {
  static const OptionTable<NullScript> made = make_table();
  return made;
}

double uniform(std::mt19937_64& bits) { return (static_cast<double>(bits() >> 11) + 0.5) * 0x1p-53; }

}  // namespace

bool QuerySet::contains(uint64_t query) const {
  return std::any_of(ranges_.begin(), ranges_.end(), [&](const auto& range) { return range.first <= query && query <= range.second; });
}

NullScript parse_null_script(const EngineOptions& options) {
  NullScript script = table().parse(options);
  const auto shape = options.find("distribution");
  if (shape != options.end() && (shape->second == "drift" || shape->second == "steps") && !options.contains(shape->second)) {
    throw Error(ErrorKind::usage, fmt::format("null: distribution={0} needs the option {0}", shape->second));
  }
  return script;
}

std::vector<OptionInfo> null_script_options() { return table().infos(); }

LatencySource::LatencySource(const NullScript& script)
    : script_(script), latency_bits_(script.seed), failure_bits_(script.seed ^ 0x9e3779b97f4a7c15u) {
  std::mt19937_64 process_bits(script.seed ^ 0xd1b54a32d192ed03u);  // its own generator, so that latencies stay what they are without it
  if (script.process_sigma > 0) process_ = std::exp(script.process_sigma * standard_normal(process_bits));
}

// Box-Muller, one of the pair: the library's own distribution differs from one library to the next.
double LatencySource::standard_normal(std::mt19937_64& bits) {
  const double radius = std::sqrt(-2 * std::log(uniform(bits)));
  return radius * std::cos(2 * std::numbers::pi * uniform(bits));
}

double LatencySource::noise() {
  switch (script_.distribution) {
    case Distribution::constant:
      return 1;
    case Distribution::normal:
      return 1 + script_.sigma * standard_normal(latency_bits_);
    case Distribution::lognormal:
      return std::exp(script_.sigma * standard_normal(latency_bits_));
    case Distribution::exponential:
      return -std::log(uniform(latency_bits_));
    case Distribution::ar1:
      // Stationary from the first: every value has variance 1.
      previous_ = previous_ ? script_.rho * *previous_ + std::sqrt(1 - script_.rho * script_.rho) * standard_normal(latency_bits_)
                            : standard_normal(latency_bits_);
      return 1 + script_.sigma * *previous_;
  }
  return 1;
}

Nanoseconds LatencySource::next(uint64_t query, size_t samples, Nanoseconds elapsed) {
  Nanoseconds base = script_.latency;
  for (const ScriptStep& step : script_.steps) {
    if (step.query <= query) base = step.latency;
  }
  const double ns = static_cast<double>(base) + static_cast<double>(script_.per_sample) * static_cast<double>(samples);
  const double scaled = ns * (1 + script_.drift * static_cast<double>(elapsed) * 1e-9) * process_ * noise();
  constexpr double year_ns = 3.2e16;
  return std::llround(std::clamp(scaled, 0.0, year_ns));
}

bool LatencySource::next_fails() { return script_.fail_rate > 0 && uniform(failure_bits_) < script_.fail_rate; }

}  // namespace deepgap
