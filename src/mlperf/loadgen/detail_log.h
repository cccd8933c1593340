// mlperf_log_detail.txt: one `:::MLLOG {...}` line an entry, with LoadGen's keys in its order. Values that JSON has no number for are null.
#pragma once

#include "mlperf/loadgen/drive.h"
#include "mlperf/loadgen/settings.h"
#include "mlperf/loadgen/verdict.h"

#include <cstdint>
#include <ostream>
#include <string>

namespace deepgap {

struct LoadgenLogNames {
  std::string version;  // version of the LoadGen whose rules hold
  std::string program;  // what wrote the log: "deepgap 0.1.0"
  std::string system, library;
};

class LoadgenDetailLog {
 public:
  // Writes to `out`, which must outlive this. `origin` is now on the run's Clock, `origin_unix_ns` the same moment for people.
  LoadgenDetailLog(std::ostream& out, const Clock& clock, int64_t origin_unix_ns);

  void begin(const LoadgenLogNames& names, const LoadgenSettings& settings);
  void phase(LoadgenMode mode);
  void loaded(const std::vector<uint32_t>& indices);
  void issued(const LoadgenPhaseResult& result);
  void verdict(const LoadgenSettings& settings, const LoadgenVerdict& verdict, int64_t queries);
  int64_t errors() const { return errors_; }

 private:
  void requested(const LoadgenSettings& settings);
  void effective(const LoadgenSettings& settings);
  void scores(const LoadgenSettings& settings, const LoadgenVerdict& verdict);
  void latencies(const LoadgenLatencies& latencies, const std::string& what);
  void tokens(LoadgenScenario scenario, const LoadgenTokenVerdict& tokens);
  void entry(const std::string& key, const std::string& json_value, bool error = false);
  void seeds_and_order(const std::string& which, const LoadgenSettings& settings);
  void put(const std::string& key, const std::string& text);
  void put(const std::string& key, const char* text) { put(key, std::string(text)); }
  void put(const std::string& key, bool value) { entry(key, value ? "true" : "false"); }
  void put(const std::string& key, int64_t value) { entry(key, std::to_string(value)); }
  void put(const std::string& key, int value) { entry(key, std::to_string(value)); }
  void put(const std::string& key, uint64_t value) { entry(key, std::to_string(value)); }
  void put(const std::string& key, double value);
  int64_t unix_ns(Nanoseconds time) const { return origin_unix_ns_ + (time - origin_); }

  std::ostream& out_;
  const Clock& clock_;
  Nanoseconds origin_;
  int64_t origin_unix_ns_;
  int64_t errors_ = 0;
};

}  // namespace deepgap
