// The settings of an MLPerf run, in LoadGen's terms: as given, and what LoadGen makes of them.
//
// Read from a run.json (run_json.h), or made of a round, a benchmark's rules and configuration files (conf_file.h). Plain data; free
// functions without state.
// Settings that LoadGen would log and run on with, or that contradict each other, are an Error{usage}.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace deepgap {

enum class LoadgenScenario { single_stream, multi_stream, server, offline };
enum class LoadgenMode { performance, accuracy, submission };  // submission: accuracy, then performance

const char* name_of(LoadgenScenario scenario);  // as LoadGen's logs spell it: "SingleStream"
const char* name_of(LoadgenMode mode);          // "PerformanceOnly"

// Versions of LoadGen that differ in what they issue.
enum class LoadgenRules {
  v5,  // 5.x, and 6.0 before 6.0.6: the whole library is shuffled
  v6,  // 6.0.6 and later: in performance mode only the first performance_sample_count samples
};

struct LoadgenSettings {
  LoadgenRules rules = LoadgenRules::v6;
  LoadgenScenario scenario = LoadgenScenario::single_stream;
  LoadgenMode mode = LoadgenMode::performance;
  uint64_t qsl_rng_seed = 0, sample_index_rng_seed = 0, schedule_rng_seed = 0, accuracy_log_rng_seed = 0;
  int64_t total_sample_count = 0;                        // samples in the library
  int64_t performance_sample_count = 0;                  // that fit into memory at once; 0: all
  int64_t accuracy_sample_count = 0;                     // 0: all
  int64_t min_duration_ms = 10000, max_duration_ms = 0;  // maximum 0: none
  int64_t min_query_count = 100, max_query_count = 0;    // maximum 0: none
  double target_qps = 1;                                 // Server and Offline
  int64_t expected_latency_ns = 1000000;                 // SingleStream and MultiStream
  int64_t samples_per_query = 8;                         // MultiStream
  double target_latency_percentile = 0;                  // 0: the scenario's, 0.9 in SingleStream and 0.99 elsewhere
  int64_t target_latency_ns = 100000000;                 // Server: the bound at that percentile
  int64_t max_async_queries = 0;                         // Server: outstanding at a time before the run is given up; 0: any
  bool coalesce_queries = false;                         // Server: queries that are due together are handed over together
  bool equal_issue = false;                              // sample_concatenate_permutation: every sample equally often
  bool issue_unique = false, issue_same = false;         // performance mode: each sample once; TEST04's one sample again and again
  int64_t issue_same_index = 0;
  // use_token_latencies: answers are tokens, and Server bounds their times at the percentile: until the first, and for each after it.
  bool token_latencies = false;
  int64_t ttft_latency_ns = 100000000, tpot_latency_ns = 100000000;
  bool infers_tokens = false;  // infer_token_latencies: each sample counts for as many tokens as the factor says
  int64_t token_latency_scaling_factor = 0;
  int64_t accuracy_log_sampling_target = 0;  // TEST01: about so many answers are logged in performance mode
  double accuracy_log_probability = 0;

  bool operator==(const LoadgenSettings&) const = default;
};

struct EffectiveLoadgenSettings {
  double target_qps = 0;
  double target_latency_percentile = 0.99;
  int64_t target_latency_ns = 0;  // Server's bound; 0 elsewhere
  int64_t max_async_queries = 1;
  int64_t samples_per_query = 1;
  int64_t min_query_count = 0;
  int64_t min_sample_count = 0;
  int64_t target_duration_ns = 0;
  int64_t performance_sample_count = 0, accuracy_sample_count = 0;
};

// Throws Error{usage} where `settings` are out of range or in conflict.
void check_settings(const LoadgenSettings& settings);
EffectiveLoadgenSettings effective_settings(const LoadgenSettings& settings);

// "5.1.1", "6.0.17"; versions whose rules are not known are an Error{usage}.
LoadgenRules loadgen_rules(const std::string& version);

// A round's official seeds and its LoadGen.
struct LoadgenRound {
  std::string name;     // "v6.0"
  std::string version;  // the LoadGen that its traffic was compared with: "6.0.17"
  LoadgenRules rules = LoadgenRules::v6;
  uint64_t qsl_rng_seed = 0, sample_index_rng_seed = 0, schedule_rng_seed = 0;
};
const std::vector<LoadgenRound>& loadgen_rounds();
void apply_round(const std::string& name, LoadgenSettings& settings);  // Error{usage} with the nearest name

}  // namespace deepgap
