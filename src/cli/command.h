// A subcommand is one file cmd_NAME.cpp that adds a row to this table by registrar; main.cpp knows none by name.
#pragma once

#include "base/feature_conflicts.h"
#include "base/registry.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace deepgap {

// Exit codes that scripts rely on.
enum ExitCode { exit_ok = 0, exit_points_failed = 1, exit_usage = 2, exit_internal = 3, exit_interrupted = 130 };

enum class CommandGroup { measure, explain, compare, decide, data, system };  // in the order of --help

struct HelpPlace {
  CommandGroup group = CommandGroup::system;
  int order = 100;  // within the group
};

class Command {
 public:
  virtual ~Command() = default;
  virtual std::string name() const = 0;
  virtual std::string describe() const = 0;  // one line for --help
  virtual HelpPlace help_place() const { return {}; }
  virtual std::vector<std::string> common_flags() const { return {}; }  // long names of the flags that -h shows; empty: all
  virtual bool hidden() const { return false; }
  virtual std::string examples() const { return ""; }  // lines for --help: "  deepgap run resnet50     what it does"
  // Declares flags; values land in members. `app` outlives the Command's run().
  virtual void declare(CLI::App& app) = 0;
  // Returns the flags that were given, and what else the table of conflicts names for this command (base/feature_conflicts.h).
  virtual Features features() const { return given; }
  // Returns an ExitCode; Error{usage|input} becomes exit_usage in main(), anything else exit_internal.
  virtual int run() = 0;

  Features given;  // the flags of the command line: "--by", "--by=point"; words by their names
};

}  // namespace deepgap
