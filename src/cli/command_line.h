// The whole command line, with every subcommand's flags: what main() parses, and what help, completion and the manual are made of.
#pragma once

#include "cli/command.h"

#include <CLI/CLI.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace deepgap {

// Throws Error{usage} for a word that asks for a feature that the build is without: a command, a flag or an axis.
void refuse_left_out(const std::string& word);

class CommandLine {
 public:
  // Builds the flags of the subcommand that the arguments begin with and of no other, a tenth of the work, which each worker process would
  // do again. Without arguments: builds all flags.
  explicit CommandLine(const std::vector<std::string>& arguments = {});
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // The subcommand that `arguments` (without the program's name) ask for, its flags set; nullptr: help or the version was printed. Throws
  // Error{usage}.
  Command* parse(const std::vector<std::string>& arguments);

  // Names the flag as this command line gave it: "invalid value 'x' for precision: ..." is about --precision, and one for --bound about
  // --slo where that was written.
  std::string with_flags(const std::string& message) const;

  const CLI::App& app() const { return app_; }
  // Returns the commands that are not hidden, by name.
  std::vector<const CLI::App*> shown() const;
  const Command& command(const CLI::App& shown) const { return *commands_.at(&shown); }
  // Returns the help of the program, or of one subcommand by name. Throws Error{usage} for an unknown name.
  std::string help(const std::string& name = "", bool complete = true) const;

 private:
  std::vector<std::string> spelled(const std::vector<std::string>& arguments) const;
  void refuse_unknown_flag(const CLI::App& command) const;
  std::string as_in_the_help(const std::string& message) const;
  void refuse_extras(const CLI::App& command) const;
  void refuse_empty(const CLI::App& command) const;

  std::vector<std::string> written_;  // the arguments as they were given
  CLI::App app_;
  std::map<const CLI::App*, std::unique_ptr<Command>> commands_;  // they hold the values that CLI11 parses into
};

}  // namespace deepgap
