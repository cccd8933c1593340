// Flags that are axes: a list makes several Points. For the commands run and tune.
#pragma once

#include "plan/study.h"

#include <CLI/CLI.hpp>

#include <map>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

// "-b,--batch,--batch-size": the first long name is the axis, with - for _. An empty description is that of the axis.
struct AxisFlag {
  const char* flags;
  const char* describe = "";
};

class AxisFlags {
 public:
  // A flag for each row of `table`, and --axis, --shape and --input, in that group. `table` must outlive this.
  void declare(CLI::App& app, const std::string& group, std::span<const AxisFlag> table);
  // Models that were named without a flag.
  void add_models(std::vector<std::string> words) { words_ = std::move(words); }
  // Returns the given axes, in the order of the table, then --axis, --shape and --input. Throws Error{usage}.
  std::vector<Axis> axes() const;
  // Returns whether the axis is of the table. --axis sets others too, such as a scenario's option `interval`, which is not --interval.
  bool has_flag(const std::string& axis) const { return texts_.contains(axis); }
  // The text given for an axis of the table, its parts joined by commas; empty: none.
  std::string text(const std::string& axis) const;

 private:
  std::span<const AxisFlag> table_;
  std::map<std::string, std::vector<std::string>> texts_;
  void add_words(std::vector<Axis>& axes) const;
  std::vector<std::string> more_axes_, shapes_, inputs_, words_;
};

}  // namespace deepgap
