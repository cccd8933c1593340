// Flags of `deepgap run` that say how long a Point is measured, and how often.
#pragma once

#include "plan/study.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

class LengthFlags {
 public:
  void declare(CLI::App& app, const std::string& group);
  // Call it when the axes are known: --quick looks at the scenarios. Throws Error{usage} for an invalid value.
  void add_to(Overrides& overrides) const;

  bool repeats_are_auto() const { return repeats_ == "auto"; }
  bool is_quick() const { return quick_; }
  // Returns whether one of them has a rule for how long it takes.
  bool any_rule() const;
  // Returns the budget of the whole search if there is one. Throws Error{usage}.
  std::optional<std::chrono::nanoseconds> budget() const;
  // A list of --percentile is of columns; one alone is what --interval is about. Throws Error{usage}.
  std::vector<double> shown_percentiles() const;

 private:
  std::optional<int> repeats() const;

  std::optional<int64_t> warmup_, iterations_;
  std::optional<int> sweeps_;
  std::optional<std::string> repeats_, duration_, min_duration_, budget_, interval_, percentile_;
  bool quick_ = false, energy_ = false;
};

}  // namespace deepgap
