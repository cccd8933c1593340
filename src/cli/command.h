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

// What --help says of a subcommand.
struct CommandInfo {
  std::string name;
  HelpPlace place = {};
  std::string describe;                        // one line
  std::string examples = {};                   // lines: "  deepgap run resnet50     what it does"
  std::vector<std::string> common_flags = {};  // long names of the flags that -h shows; empty: all
  std::vector<std::string> words = {};         // what completes the word after the name; empty: what its kind says
  bool hidden = false;
};

class Command {
 public:
  virtual ~Command() = default;
  // Declares flags, if there are any; values land in members. The App outlives the Command's run().
  virtual void declare(CLI::App& /*app*/) {}
  // Returns the flags that were given, and what else the table of conflicts names for this command (base/feature_conflicts.h).
  virtual Features features() const { return given; }
  // Returns an ExitCode; Error{usage|input} becomes exit_usage in main(), anything else exit_internal.
  virtual int run() = 0;

  CommandInfo info;  // as it was added
  Features given;    // the flags of the command line: "--by", "--by=point"; words by their names
};

// `arguments` are those of the constructor of Kind.
template <typename Kind, typename... Arguments>
bool add_command(const CommandInfo& info, const Arguments&... arguments) {
  return Registry<Command>::instance().add(info.name, [info, arguments...] {
    auto command = std::make_unique<Kind>(arguments...);
    command->info = info;
    return command;
  });
}

}  // namespace deepgap
