#include "backends/null/script.h"

#include "base/option_table.h"
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

namespace deepgap {
namespace {

std::optional<QuerySet> parse_queries(const std::string& value) {
  QuerySet set;
  for (const std::string& part : split(value, '/')) {
    const auto ends = split(part, '-');
    const auto first = parse_int(ends.front());
    const auto last = parse_int(ends.back());
    if (ends.size() > 2 || !first || !last || *first < 0 || *last < *first) return std::nullopt;
    set.add(static_cast<uint64_t>(*first), static_cast<uint64_t>(*last));
  }
  return set;
}

std::optional<std::vector<ScriptStep>> parse_steps(const std::string& value) {
  std::vector<ScriptStep> result;
  for (const std::string& part : split(value, '/')) {
    const auto pair = split(part, ':');
    const auto query = parse_int(pair.front());
    const auto latency = parse_duration(pair.back());
    const bool rising = result.empty() || (query && *query > static_cast<int64_t>(result.back().query));
    if (pair.size() != 2 || !query || *query < 0 || !latency || !rising) return std::nullopt;
    result.push_back({static_cast<uint64_t>(*query), *latency});
  }
  return result;
}

OptionTable<NullScript> make_table() {
  using Script = NullScript;
  constexpr double any = 1e12;
  OptionTable<NullScript> table("null");
  table.duration("latency", "time of a query; 0ns completes inside enqueue", &Script::latency, 0);
  table.duration("per_sample", "time added for each sample of the query", &Script::per_sample, 0);
  // drift and steps are shapes of their own in the user's words; to the source they are a constant with that option set.
  table.choice("distribution", "constant, normal, lognormal, exponential, ar1, drift or steps", &Script::distribution,
               {{"constant", Distribution::constant},
                {"normal", Distribution::normal},
                {"lognormal", Distribution::lognormal},
                {"exponential", Distribution::exponential},
                {"ar1", Distribution::ar1},
                {"drift", Distribution::constant},
                {"steps", Distribution::constant}});
  table.number("sigma", "spread relative to the latency (normal, ar1), of the logarithm (lognormal)", &Script::sigma, 0, 100);
  table.number("rho", "correlation of one latency with the next (ar1)", &Script::rho, -0.9999, 0.9999);
  table.number("process_sigma", "spread from process to process, of the logarithm: all latencies of one share a factor",
               &Script::process_sigma, 0, 10);
  table.number("drift", "relative growth of the latency a second", &Script::drift, -any, any);
  table.parsed({"steps", "QUERY:LATENCY pairs joined by '/': the latency from that query on", ""},
               "rising QUERY:LATENCY pairs such as 100:2ms/200:4ms", &Script::steps, parse_steps);
  table.duration("token_interval", "task generate: time between two deliveries of tokens; latency is the time to the first",
                 &Script::token_interval, 0);
  table.count("chunk_tokens", "task generate: tokens that come together", &Script::chunk_tokens, 1, 1 << 20);
  table.count("cached_tokens", "task generate: tokens of each prompt that it claims to have had in a cache", &Script::cached_tokens, 0);
  table.number("counted_share", "task generate: output tokens that it claims to have counted, over those delivered", &Script::counted_share,
               0, 10);
  table.count("reasoning_tokens", "task generate: the first tokens that are reasoning", &Script::reasoning_tokens, 0);
  table.count("concurrency", "queries served at once", &Script::concurrency, 1, 1 << 20);
  table.count("seed", "of latencies and failures; each repeat draws a stream of its own from it", &Script::seed, 0);
  table.choice("clock", "real; virtual: time jumps from one event to the next, so that a run takes no time and measures nothing",
               &Script::virtual_time, {{"real", false}, {"virtual", true}});
  table.on_off("outlive_failures", "whether a run goes on when a query failed, as with a server", &Script::outlives_failures);
  table.duration("load_time", "time that loading takes", &Script::load_time, 0);
  table.count("memory_bytes", "memory that the session claims to hold", &Script::memory_bytes, 0);
  table.count("allocate_bytes", "memory that is really taken and touched at load", &Script::allocate_bytes, 0);
  table.text("stderr", "text written to standard error at load", &Script::stderr_text);
  const auto queries = [&](const char* name, const char* describe, QuerySet Script::*field) {
    table.parsed({name, describe, ""}, "query numbers such as 3 or 3/7/10-12", field, parse_queries);
  };
  queries("fail_at", "queries that fail", &Script::fail_at);
  table.number("fail_rate", "share of queries that fail", &Script::fail_rate, 0, 1);
  queries("hang_at", "queries that are never completed", &Script::hang_at);
  queries("crash_at", "queries that end the process by a segmentation fault", &Script::crash_at);
  queries("exit_at", "queries that end the process with exit code 9", &Script::exit_at);
  queries("sigkill_at", "queries that end the process by SIGKILL", &Script::sigkill_at);
  queries("device_lost_at", "queries that lose the device", &Script::device_lost_at);
  table.count("oom_at_load", "smallest batch that is out of memory at load", &Script::oom_at_load, 1);
  table.text("refuse", "reason with which load refuses", &Script::refuse);
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
