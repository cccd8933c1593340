// Flags of `deepgap run` that search for the largest load.
#pragma once

#include "cli/peak_study.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace deepgap {

class PeakSearchFlags {
 public:
  void declare(CLI::App& app, const std::string& group);
  bool is_asked() const { return asked_; }
  // Throws Error{usage} for an invalid value.
  PeakFlags flags(const std::optional<std::chrono::nanoseconds>& budget, bool resumes) const;

 private:
  bool asked_ = false;
  std::optional<double> from_;
  std::optional<std::string> ratio_, interval_;
};

}  // namespace deepgap
