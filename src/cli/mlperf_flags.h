// Flags of `deepgap run` for MLPerf runs: LoadGen's configuration files, its logs, and shorter runs (docs/how-to/run-mlperf.md).
#pragma once

#include "cli/axis_flags.h"
#include "plan/study.h"
#include "run/run_study.h"

#include <CLI/CLI.hpp>

#include <string>

namespace deepgap {

// Returns whether the grid is an MLPerf run. MLPerf runs last as their rules say; others in the study, as their duration says.
bool is_mlperf(const Grid& grid);

class MlperfFlags {
 public:
  void declare(CLI::App& app, const std::string& what, const std::string& where);
  // The files' settings as axes of one value; user.conf goes before mlperf.conf, a flag before both. An audit goes before all of them, and
  // a flag that says something else of its settings is an error. Throws Error{usage | input}.
  void add_conf_files(const AxisFlags& given, Overrides& overrides) const;
  // Applies --scale if it is given. Throws Error{usage}.
  void apply_scale(Study& study) const;
  bool is_scaled() const { return !scale_.empty(); }
  void set_logs(RunSettings& settings) const;
  // A run of one Record writes into the folder itself, as LoadGen does; what another run left there is a result that its Record points to.
  // Throws Error{usage}.
  void check_log_folder(bool resumes) const;

 private:
  std::string scale_, user_conf_, mlperf_conf_, audit_conf_, log_;
  bool trace_ = false;
};

}  // namespace deepgap
