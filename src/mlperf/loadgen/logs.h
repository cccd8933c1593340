// The four log files of an MLPerf run in one folder: mlperf_log_summary.txt, _detail.txt, _accuracy.json and, where asked for, _trace.json.
#pragma once

#include "mlperf/loadgen/detail_log.h"
#include "mlperf/loadgen/drive.h"
#include "mlperf/loadgen/verdict.h"

#include <fstream>
#include <string>

namespace deepgap {

class LoadgenLogs final : public LoadgenObserver {
 public:
  // Makes the folder, empties the files and begins them; the clock's now is the wall clock's `unix_ns`. Throws Error{input} where that
  // cannot be done.
  LoadgenLogs(const std::string& folder, const LoadgenLogNames& names, const LoadgenSettings& settings, const Clock& clock, int64_t unix_ns,
              bool trace);
  void on_phase(LoadgenMode mode) override { detail_.phase(mode); }
  void on_set(const LoadgenSet& set) override { detail_.loaded(set.indices); }
  void on_sample(const LoadgenFinishedSample& sample) override;
  void on_result(const LoadgenPhaseResult& result) override;
  // Once, after the run. `verdict` nullptr: there was no performance phase. Throws Error{input} when something could not be written.
  void finish(const LoadgenVerdict* verdict);

 private:
  std::string tokens_text(const LoadgenFinishedSample& sample) const;
  void trace(const LoadgenFinishedSample& sample);

  std::string folder_;
  LoadgenLogNames names_;
  LoadgenSettings settings_;
  const Clock& clock_;
  Nanoseconds origin_;
  int64_t unix_ns_, queries_ = 0;
  std::ofstream summary_out_, detail_out_, accuracy_out_, trace_out_;
  LoadgenDetailLog detail_;
  bool any_answer_ = false;
};

}  // namespace deepgap
