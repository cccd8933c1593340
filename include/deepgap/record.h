// Record: everything about one repeat of one Point. docs/reference/database.md describes how it is stored.
#pragma once

#include <deepgap/clock.h>
#include <deepgap/point.h>
#include <deepgap/session.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace deepgap {

enum class Outcome { ok, refused, skipped, incorrect, out_of_memory, crashed, timed_out, device_lost, interrupted };
// Verdicts in order of severity. none: the outcome is not ok; as_found: no interval was asked for, or the window was too short to judge
// one, and nothing speaks against it; undecided: there were too few queries to decide whether a latency bound is held.
enum class Verdict { none, valid, as_found, unstable, undecided, invalid };

// A named fact with dotted key ("cpu.model", "memory.total_bytes"). Missing knowledge is a string "not available: why", never a zero.
using Fact = std::variant<bool, int64_t, double, std::string>;
using Facts = std::map<std::string, Fact>;

// One timed query or step. Times are on the run's clock.
struct Timing {
  uint64_t query = 0;
  Nanoseconds scheduled = 0;  // when it should have begun: open-loop latency counts from here
  Nanoseconds begin = 0;      // when it was submitted
  Nanoseconds end = 0;        // when its last sample was finished
  uint32_t samples = 0;
  Status status = Status::ok;
};

// A stretch of the run. `steady` is the measured one: exactly what throughput, latency and energy are computed over.
struct Window {
  std::string name;  // idle, load, check, warm_up, steady
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
};

// Raw timestamped readings of one probe for the worker's life; counters are cumulative, as read.
struct Series {
  std::string probe;  // proc
  std::string name;   // cpu_time
  std::string unit;   // s, bytes, 1
  bool counter = false;
  std::vector<Nanoseconds> times;
  std::vector<double> values;
};

// The comparison of the outputs with the reference, over all outputs and checked samples.
struct CheckResult {
  std::string against;  // "native fp32 reference", "onnxruntime", a folder
  int64_t samples = 0;
  double max_abs_error = 0;
  double mean_abs_error = 0;
  double sqnr_db = 0;                    // 10 log10(sum ref^2 / sum err^2); 300 when equal
  std::optional<double> top1_agreement;  // share of samples whose largest entry is the same; for [N, classes] outputs
  std::optional<double> min_sqnr_db;     // least value that the precision requires
  bool pass = true;
};

struct Estimate {
  double value = 0;
  std::optional<double> low, high;  // 95 % interval
  int64_t n = 0;                    // observations behind it
};

struct StoppingSettings {
  std::string name = "interval";        // counts, duration, interval
  std::optional<int64_t> warmup;        // queries; nullopt: until steady
  std::optional<int64_t> iterations;    // queries, for counts
  std::optional<Nanoseconds> duration;  // for duration
  double interval = 0.01;               // relative half-width asked for
  std::string target = "throughput";    // or a latency percentile "p99"
  Nanoseconds budget = 30'000'000'000;  // longest steady window; a Point that needs more is `unstable`
  Nanoseconds warmup_budget = 10'000'000'000;
  bool auto_repeats = false;  // the number of repeats follows from the results so far (--repeats auto)
  double asked_of_all = 0;    // with auto_repeats: target interval over all repeats; `interval` then applies to each repeat alone

  bool operator==(const StoppingSettings&) const = default;
};

// Annotations that were added to a Record after it was measured. They are kept in a Store and never travel with a worker's Record.
struct Annotations {
  std::set<std::string> tags;   // names that it is selected by
  std::set<std::string> notes;  // a line each

  bool operator==(const Annotations&) const = default;
};

struct Record {
  std::string record_id;  // 32 hex digits, random
  std::string run_id;     // identifies the `deepgap run` that made it
  std::string study;      // its name, or "flags"
  Point point;
  int repeat = 0;  // from 0
  int sweep = 0;
  std::string tenant;  // empty: the only one
  int rank = 0;
  int64_t started_unix_ns = 0;
  Outcome outcome = Outcome::ok;
  Verdict verdict = Verdict::none;
  std::string reason;      // one line; empty when ok, valid and not unchecked for want of a reference
  bool unchecked = false;  // no reference could be made
  StoppingSettings stopping;

  std::string backend_version;
  std::string dataset_description;
  Facts environment;  // machine, libraries, git: the same for every Record of a worker
  Facts facts;        // facts about this run: cpus used, probe availability, kept layers, warnings
  std::string stderr_tail;

  std::optional<double> load_s;           // making the Model: file read or weights made
  std::optional<double> compile_s;        // Backend::load
  std::optional<double> first_result_ms;  // latency of the first query
  MemoryUse device_memory;                // as the Session reports it
  std::optional<int64_t> host_memory_peak_bytes;
  int64_t parameters = 0, macs_per_item = 0, flop_per_item = 0, bytes_per_item = 0;

  std::optional<CheckResult> check;
  int64_t warmup_queries = 0;
  std::vector<Window> windows;
  std::vector<Series> series;
  std::vector<Timing> timings;                // timings of the steady window, in order of completion
  int64_t timings_dropped = 0;                // beyond 10^7; 0 means all are there
  std::map<std::string, Estimate> estimates;  // estimates of the worker's Stopping: "throughput"
  Annotations annotations;
};

}  // namespace deepgap
