// Keeps the Timings of a window without disturbing it: in chunks, so that growing copies nothing. Beyond 10^7 they are counted only.
#pragma once

#include "scenario/scenario.h"
#include "worker/pulse.h"

#include <deepgap/record.h>

#include <memory>
#include <vector>

namespace deepgap {

class TimingLog final : public TimingSink {
 public:
  static constexpr int64_t default_limit = 10'000'000;
  explicit TimingLog(Pulse& pulse, int64_t limit = default_limit) : pulse_(pulse), limit_(limit) { grow(); }

  void add(const Timing& timing) override {
    pulse_.beat();
    ++count_;
    if (count_ > limit_) return;
    if (chunks_.back()->size() == chunk_size) grow();
    chunks_.back()->push_back(timing);
  }
  int64_t count() const { return count_; }
  int64_t dropped() const { return count_ > limit_ ? count_ - limit_ : 0; }
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
  void grow() {
    chunks_.push_back(std::make_unique<std::vector<Timing>>());
    chunks_.back()->reserve(chunk_size);
  }
  Pulse& pulse_;
  int64_t limit_;
  int64_t count_ = 0;
  std::vector<std::unique_ptr<std::vector<Timing>>> chunks_;
};

// For the warm-up, whose timings nobody keeps.
class TimingCounter final : public TimingSink {
 public:
  explicit TimingCounter(Pulse& pulse) : pulse_(pulse) {}
  void add(const Timing& /*timing*/) override {
    pulse_.beat();
    ++count_;
  }
  int64_t count() const { return count_; }

 private:
  Pulse& pulse_;
  int64_t count_ = 0;
};

}  // namespace deepgap
