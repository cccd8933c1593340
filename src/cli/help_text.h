// The text of --help and -h, made from the flag tables. Pure.
#pragma once

#include "cli/flag_table.h"

#include <string>
#include <vector>

namespace deepgap {

enum class HelpLength { common, complete };  // -h, --help

// All commands by group.
std::string program_help(const std::vector<CommandRow>& commands);
// One command. As wide as the terminal, at most 100 columns, and 80 without one; examples stay one command a line.
std::string command_help(const CommandRow& command, HelpLength length);

}  // namespace deepgap
