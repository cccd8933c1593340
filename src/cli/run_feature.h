// RunFeature: flags of `deepgap run` of a feature that a build may be without (cli/mlperf). They add themselves to the Registry; each
// command line has its own.
#pragma once

#include "cli/axis_flags.h"
#include "plan/study.h"
#include "run/run_study.h"

#include <CLI/CLI.hpp>

#include <span>
#include <string>

namespace deepgap {

class RunFeature {
 public:
  virtual ~RunFeature() = default;
  // Returns the flags that are axes; they outlive the object.
  virtual std::span<const AxisFlag> axes() const { return {}; }
  // Declares the other flags, in the groups of what is measured and of where results go.
  virtual void declare(CLI::App& app, const std::string& what, const std::string& where) = 0;
  // Adds what the flags say as axes. Throws Error{usage | input}.
  virtual void add_axes(const AxisFlags& /*given*/, Overrides& /*overrides*/) const {}
  // Changes a study that has all its axes. Throws Error{usage}.
  virtual void change_study(Study& /*study*/) const {}
  // Throws Error{usage}.
  virtual void change_settings(RunSettings& /*settings*/) const {}
  // Returns what is noted on standard error below the results; empty: nothing.
  virtual std::string note() const { return {}; }
};

}  // namespace deepgap
