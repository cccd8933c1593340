// ExportForm: a value of `deepgap export --format` of a feature that a build may be without (cli/mlperf). They add themselves to the
// Registry by that value; each command line has its own.
#pragma once

#include "cli/selection.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace deepgap {

class ExportForm {
 public:
  virtual ~ExportForm() = default;
  virtual std::string describe() const = 0;  // "a submission's tree"
  virtual void declare(CLI::App& app) = 0;   // its own flags
  // Writes the selected Records of these Stores to `output`. Confined. Throws Error.
  virtual void write(const std::vector<std::string>& stores, const Selection& selection, const std::string& output) const = 0;
};

}  // namespace deepgap
