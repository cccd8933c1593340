// Flags of `deepgap run` that say how long a Point is measured, and how often.
#pragma once

#include "plan/study.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

// Kinds of run that have a rule of their own for how long they take.
struct RunKind {
  bool duel = false, tenants = false, find_peak = false, mlperf = false;
  bool is_alone() const { return !duel && !tenants && !find_peak && !mlperf; }  // each Point is measured by itself
};

class LengthFlags {
 public:
  void declare(CLI::App& app, const std::string& group);
  // Throws Error{usage} for a value that is none, and for flags that do not go together or with what the run is.
  void add_to(Overrides& overrides, const RunKind& kind) const;

  bool repeats_are_auto() const { return repeats_ == "auto"; }
  bool is_quick() const { return quick_; }
  // Returns whether one of them has a rule for how long it takes.
  bool any_rule() const;
  // Returns the budget of the whole search if there is one. Throws Error{usage}.
  std::optional<std::chrono::nanoseconds> budget() const;
  // A list of --percentile is of columns; one alone is what --interval is about. Throws Error{usage}.
  std::vector<double> shown_percentiles() const;

 private:
  void require_fit(const RunKind& kind) const;
  std::optional<int> repeats(const RunKind& kind) const;
  Nanoseconds quick_window(const RunKind& kind) const;

  std::optional<int64_t> warmup_, iterations_;
  std::optional<int> sweeps_;
  std::optional<std::string> repeats_, duration_, min_duration_, budget_, interval_, percentile_;
  bool quick_ = false, energy_ = false;
};

}  // namespace deepgap
