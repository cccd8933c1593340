// The script of the null backend: its options, parsed, and the latencies that follow from them. Pure: same seed, same latencies on every
// machine.
#pragma once

#include "base/option_values.h"

#include <deepgap/backend.h>

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {

// Numbers of queries, "3" or "3/7/10-12": the Session's first enqueue is query 0, warm-up included.
class QuerySet {
 public:
  bool contains(uint64_t query) const;
  void add(uint64_t first, uint64_t last) { ranges_.emplace_back(first, last); }

 private:
  std::vector<std::pair<uint64_t, uint64_t>> ranges_;  // both ends belong to it
};

enum class Distribution { constant, normal, lognormal, exponential, ar1 };

struct ScriptStep {
  uint64_t query = 0;  // from this one on
  Nanoseconds latency = 0;
};

struct NullScript {
  // latency = (latency or step + per_sample * samples) * (1 + drift * seconds since load) * noise
  Nanoseconds latency = 1'000'000;
  Nanoseconds per_sample = 0;
  Distribution distribution = Distribution::constant;
  double sigma = 0.1;        // relative to the latency; of the logarithm for lognormal
  double rho = 0.5;          // correlation of neighbours, for ar1
  double process_sigma = 0;  // sigma of the logarithm of a factor that all latencies of a process share
  double drift = 0;          // per second
  std::vector<ScriptStep> steps;
  int concurrency = 1;  // queries served at once; the others wait in the order they came
  uint64_t seed = 1;

  // In task generate `latency` is the time to the first token; then more follow, `chunk_tokens` at a time.
  Nanoseconds token_interval = 10'000'000;
  int chunk_tokens = 1;
  int64_t cached_tokens = 0;     // tokens of each prompt
  double counted_share = 1;      // tokens that it claims to have counted, over those that it delivered
  int64_t reasoning_tokens = 0;  // how many of the first tokens are reasoning

  bool virtual_time = false;  // read by whoever makes the run's Clock
  bool outlives_failures = false;
  Nanoseconds load_time = 0;
  std::optional<int64_t> memory_bytes;    // the value that Session::memory() returns
  std::optional<int64_t> allocate_bytes;  // really taken and touched
  std::string stderr_text;

  QuerySet fail_at, hang_at, crash_at, exit_at, sigkill_at, device_lost_at;
  double fail_rate = 0;
  std::optional<int64_t> oom_at_load;  // the smallest batch that does not fit
  std::string refuse;
};

// Throws Error{usage} naming the option and what it takes.
NullScript parse_null_script(const EngineOptions& options);
std::vector<OptionInfo> null_script_options();

// Draws one latency a query, in order.
class LatencySource {
 public:
  explicit LatencySource(const NullScript& script);
  // `elapsed` is the run's time since load. Never negative.
  Nanoseconds next(uint64_t query, size_t samples, Nanoseconds elapsed);
  bool next_fails();  // from a stream of its own: failures do not change latencies

 private:
  double noise();
  double standard_normal(std::mt19937_64& bits);

  const NullScript& script_;
  std::mt19937_64 latency_bits_, failure_bits_;
  std::optional<double> previous_;  // for ar1
  double process_ = 1;              // factor of all its latencies
};

}  // namespace deepgap
