// Keeps the Timings of a window without disturbing it: in chunks, so that growing copies nothing. Beyond 10^7 only their latencies and
// waits are, in histograms of 0.1 % (stats/log_histogram.h), so that memory is bounded and percentiles are those of all queries.
#pragma once

#include "scenario/scenario.h"
#include "stats/log_histogram.h"
#include "worker/heartbeat.h"
#include "worker/load_verdict.h"

#include <deepgap/record.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace deepgap {

class TimingLog final : public TimingSink {
 public:
  static constexpr int64_t default_limit = 10'000'000;
  explicit TimingLog(Heartbeat& heartbeat, int64_t limit = default_limit) : heartbeat_(heartbeat), limit_(limit) { grow(); }

  void add(const Timing& timing) override {
    heartbeat_.beat();
    begin_ = count_ == 0 ? timing.begin : std::min(begin_, timing.begin);
    end_ = std::max(end_, timing.end);
    ++count_;
    if (count_ > limit_) return count_only(timing);
    if (chunks_.back()->size() == chunk_size) grow();
    chunks_.back()->push_back(timing);
  }
  int64_t count() const { return count_; }
  int64_t dropped() const { return count_ > limit_ ? count_ - limit_ : 0; }
  // The times cover all timings: exactly what was measured.
  Nanoseconds begin() const { return begin_; }
  Nanoseconds end() const { return end_; }
  // Where some were dropped: "latency_p99_ms" and its family of all queries, within 0.1 %. Before take().
  std::map<std::string, Estimate> estimates_of_all() const;
  // Returns what the verdict needs; queries that were shed are not in the log and count as infinite latency. Call it before take().
  LatencySummary summarize(const std::optional<LatencyBound>& bound, int64_t shed = 0) const;
  std::vector<Timing> take() {
    std::vector<Timing> all;
    all.reserve(static_cast<size_t>(count_ - dropped()));
    for (auto& chunk : chunks_) {
      all.insert(all.end(), chunk->begin(), chunk->end());
      chunk.reset();
    }
    chunks_.clear();
    count_ = 0;
    grow();
    return all;
  }

 private:
  static constexpr size_t chunk_size = 16'384;
  template <typename Visit>
  void each_kept(Visit visit) const {
    for (const auto& chunk : chunks_) std::for_each(chunk->begin(), chunk->end(), visit);
  }
  void count_only(const Timing& timing) {
    dropped_latencies_.add(timing.end - timing.scheduled);
    dropped_waits_.add(timing.begin - timing.scheduled);
  }
  void grow() {
    chunks_.push_back(std::make_unique<std::vector<Timing>>());
    chunks_.back()->reserve(chunk_size);
  }
  Heartbeat& heartbeat_;
  int64_t limit_;
  int64_t count_ = 0;
  Nanoseconds begin_ = 0, end_ = INT64_MIN;
  LogHistogram dropped_latencies_, dropped_waits_;
  std::vector<std::unique_ptr<std::vector<Timing>>> chunks_;
};

// For the warm-up, whose timings nobody keeps.
class TimingCounter final : public TimingSink {
 public:
  explicit TimingCounter(Heartbeat& heartbeat) : heartbeat_(heartbeat) {}
  void add(const Timing& /*timing*/) override {
    heartbeat_.beat();
    ++count_;
  }
  int64_t count() const { return count_; }

 private:
  Heartbeat& heartbeat_;
  int64_t count_ = 0;
};

}  // namespace deepgap
