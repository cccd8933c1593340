// Turn: a short window of one contender of a duel, while the others wait. What another contender left in the caches is its neighbour's
// affair: queries that begin in the first tenth of the turn are driven but not kept. A turn is as long as asked and has three queries at
// least, but where queries are long it ends with the first one that passes half a second. Used as sink and Stopping of one Traffic; one
// thread.
#pragma once

#include "scenario/scenario.h"

#include <deepgap/record.h>

#include <cstdint>
#include <span>
#include <string>

namespace deepgap {

class Turn final : public TimingSink, public Stopping {
 public:
  // Kept timings go to `kept` too, which outlives this. `settle`: leaves out the beginning.
  Turn(Nanoseconds slice, bool settle, TimingSink& kept) : slice_(slice), settle_(settle), kept_(kept) {}

  // TimingSink
  void add(const Timing& timing) override;
  // Stopping
  std::string name() const override { return "turn"; }
  void add(std::span<const Timing> /*timings*/) override {}  // they came by the other way
  State state() const override;
  std::string reason() const override { return {}; }
  Estimate throughput() const override;

  int64_t queries() const { return queries_; }  // kept
  int64_t left_out() const { return left_out_; }
  int64_t items() const { return items_; }      // kept
  Nanoseconds begin() const { return begin_; }  // end of the last query that is not kept
  Nanoseconds end() const { return end_; }
  double seconds() const { return static_cast<double>(end_ - begin_) / 1e9; }
  double whole_seconds() const { return static_cast<double>(end_ - first_begin_) / 1e9; }  // with what was left out

 private:
  Nanoseconds slice_;
  bool settle_;
  TimingSink& kept_;
  int64_t queries_ = 0, left_out_ = 0, items_ = 0;
  Nanoseconds first_begin_ = 0, begin_ = 0, end_ = 0;
};

}  // namespace deepgap
