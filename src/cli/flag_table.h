// The flags of the subcommands as plain rows, for completion and the manual. Pure.
#pragma once

#include "cli/command_line.h"

#include <string>
#include <vector>

namespace deepgap {

enum class Takes { nothing, text, file, folder, one_of };

struct FlagRow {
  std::vector<std::string> names;      // with dashes: "-b", "--batch"; empty: a word without a flag
  std::string group, value, describe;  // value: "LIST", as --help names it
  std::string default_value{};         // empty: the description says it, or there is none
  bool required = false, several = false;
  bool common = false;  // shown by -h
  Takes takes = Takes::nothing;
  std::vector<std::string> choices;  // for Takes::one_of
};

struct CommandRow {
  std::string name, describe, examples, footer;
  std::vector<FlagRow> flags;
  HelpPlace place{};
};

// Returns the flags as --help shows them, without the hidden ones.
std::vector<CommandRow> command_rows(const CommandLine& line);
// One of them.
CommandRow command_row(const CommandLine& line, const CLI::App& shown);

std::string bash_completion(const std::vector<CommandRow>& commands);
std::string zsh_completion(const std::vector<CommandRow>& commands);
// A page for man(1), in roff.
std::string manual_page(const std::vector<CommandRow>& commands, const std::string& version);

}  // namespace deepgap
