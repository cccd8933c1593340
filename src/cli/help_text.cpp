#include "cli/help_text.h"

#include "base/text.h"
#include "run/progress.h"
#include "run/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace deepgap {
namespace {

constexpr size_t description_column = 30, short_description_column = 26;

// Returns as many columns as the terminal has, at most 100; 80 where there is none.
size_t help_width() {
  const size_t columns = terminal_columns(stdout);
  return columns == 0 ? 80 : std::clamp<size_t>(columns, 60, 100);
}

constexpr const char* summary = "deepgap measures how fast deep-learning models run, explains why, and helps choose.";

constexpr const char* examples =
    "  deepgap run resnet50                       a first result with the native engine\n"
    "  deepgap run net.onnx -e native,onnxruntime,openvino -b 1,8   three engines, two batches\n"
    "  deepgap run studies/quickstart.toml        measure a study file\n"
    "  deepgap report deepgap.db                  write an HTML report\n";

const char* title_of(CommandGroup group) {
  switch (group) {
    case CommandGroup::measure:
      return "Measure";
    case CommandGroup::explain:
      return "Explain";
    case CommandGroup::compare:
      return "Compare";
    case CommandGroup::decide:
      return "Decide";
    case CommandGroup::data:
      return "Data";
    case CommandGroup::system:
      return "System";
  }
  return "";
}

std::string in_lines(const std::string& text) { return join(wrapped(text, help_width()), "\n"); }

// "  HEADING      text", with the text in a column of its own; it begins below where the heading is too long.
std::string entry(const std::string& heading, const std::string& text, size_t column) {
  const std::vector<std::string> lines = wrapped(text, help_width() - column);
  std::string shown = "  " + heading;
  if (lines.empty()) return shown + "\n";
  const bool fits = shown.size() + 2 <= column;
  shown += fits ? std::string(column - shown.size(), ' ') : "\n" + std::string(column, ' ');
  return shown + join(lines, "\n" + std::string(column, ' ')) + "\n";
}

// "run" of "  deepgap run x      note": the command and the note behind it.
std::pair<std::string, std::string> example_parts(const std::string& line) {
  const std::string text = trim(line);
  const size_t gap = text.find("   ");
  if (gap == std::string::npos) return {text, ""};
  return {text.substr(0, gap), trim(text.substr(gap))};
}

// Notes in one column where they fit; a command is never broken.
std::string example_lines(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const std::string& line : split(text, '\n'))
    if (!trim(line).empty()) rows.push_back(example_parts(line));
  size_t column = 0;
  for (const auto& [command, note] : rows)
    if (!note.empty() && command.size() + note.size() + 5 <= help_width()) column = std::max(column, command.size() + 3);
  std::string shown = "Examples:\n";
  for (const auto& [command, note] : rows) {
    shown += "  " + command;
    if (!note.empty() && std::max(column, command.size() + 3) + note.size() + 2 <= help_width()) {
      shown += std::string(std::max(column, command.size() + 3) - command.size(), ' ') + note;
    } else if (!note.empty()) {
      shown += command.size() + note.size() + 5 <= help_width() ? "   " + note : "\n      " + note;
    }
    shown += "\n";
  }
  return shown;
}

std::string heading_of(const FlagRow& flag) {
  if (flag.names.empty()) return flag.value + (flag.several ? " ..." : "");
  const bool has_letter = flag.names.front().size() == 2;
  return (has_letter ? "" : "    ") + join(flag.names, ", ") + (flag.value.empty() ? "" : " " + flag.value);
}

std::string describe(const FlagRow& flag) {
  return flag.default_value.empty() ? flag.describe : fmt::format("{} [default: {}]", flag.describe, flag.default_value);
}

// The first sentence and the default, for -h.
void shorten(FlagRow& flag) {
  const size_t end = flag.describe.find(". "), value = flag.describe.rfind(" [default: ");
  if (end == std::string::npos || end > value) return;  // "[default: 1, 2, ... up to the threads]" is one sentence
  flag.describe = flag.describe.substr(0, end) + (value == std::string::npos ? "" : flag.describe.substr(value));
}

std::string usage_of(const CommandRow& command) {
  std::string text = "Usage: deepgap " + command.name;
  for (const FlagRow& flag : command.flags) {
    if (!flag.names.empty()) continue;
    const std::string word = heading_of(flag);
    text += flag.required ? " " + word : word.starts_with("[") ? " " + word : " [" + word + "]";
  }
  return text + " [flags]\n";
}

// Footers have a layout of their own: what is indented is "  name  text".
std::string footer_lines(const std::string& footer) {
  std::string shown;
  for (const std::string& line : split(trim(footer), '\n')) {
    const size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const size_t gap = line.find("  ", indent);
    if (indent > 0 && gap != std::string::npos) {
      shown += entry(line.substr(2, gap - 2), trim(line.substr(gap)), 26);
    } else {
      shown += in_lines(line) + "\n";
    }
  }
  return shown;
}

// Each group once, in the order of its first flag; those without a group stand last.
std::string flag_lines(const std::vector<FlagRow>& flags, size_t column) {
  constexpr const char* no_group = "Flags";
  std::vector<std::pair<std::string, std::string>> groups;  // title, lines
  for (const FlagRow& flag : flags) {
    if (flag.names.empty()) continue;
    const std::string title = flag.group == "OPTIONS" || flag.group == "Options" ? no_group : flag.group;
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& known) { return known.first == title; });
    if (group == groups.end()) group = groups.insert(groups.end(), {title, ""});
    group->second += entry(heading_of(flag), describe(flag), column);
  }
  std::stable_partition(groups.begin(), groups.end(), [](const auto& group) { return group.first != no_group; });
  std::string shown;
  for (const auto& [title, lines] : groups) shown += "\n" + title + ":\n" + lines;
  return shown;
}

}  // namespace

std::string program_help(const std::vector<CommandRow>& commands) {
  std::string text = in_lines(summary) + "\n\nUsage: deepgap COMMAND [flags]\n";
  for (const CommandGroup group : {CommandGroup::measure, CommandGroup::explain, CommandGroup::compare, CommandGroup::decide,
                                   CommandGroup::data, CommandGroup::system}) {
    std::vector<const CommandRow*> members;
    for (const CommandRow& command : commands)
      if (command.place.group == group) members.push_back(&command);
    std::sort(members.begin(), members.end(), [](const auto* a, const auto* b) { return a->place.order < b->place.order; });
    if (!members.empty()) text += fmt::format("\n{}:\n", title_of(group));
    for (const CommandRow* command : members) text += entry(command->name, command->describe, 15);
  }
  text += "\n" + example_lines(examples);
  return text + "\n" + in_lines("deepgap COMMAND -h shows common flags, --help all; deepgap --version shows the version.") + "\n";
}

std::string command_help(const CommandRow& command, HelpLength length) {
  std::vector<FlagRow> flags = command.flags;
  const bool short_form =
      length == HelpLength::common && std::any_of(flags.begin(), flags.end(), [](const FlagRow& f) { return f.common; });
  const auto all = std::count_if(flags.begin(), flags.end(), [](const FlagRow& flag) { return !flag.names.empty(); });
  if (short_form) {
    std::erase_if(flags, [](const FlagRow& flag) { return !flag.common && !flag.names.empty(); });
    for (FlagRow& flag : flags) {
      flag.group = "Common flags";
      shorten(flag);
    }
  }
  const size_t column = short_form ? short_description_column : description_column;
  std::string text = in_lines(command.describe) + "\n\n" + usage_of(command);
  std::string words;
  for (const FlagRow& flag : flags)
    if (flag.names.empty()) words += entry(heading_of(flag), describe(flag), column);
  if (!words.empty()) text += "\nArguments:\n" + words;
  text += flag_lines(flags, column);
  if (!command.examples.empty()) text += "\n" + example_lines(command.examples);
  if (short_form) return text + fmt::format("\ndeepgap {} --help shows all {} flags.\n", command.name, all);
  return command.footer.empty() ? text : text + "\n" + footer_lines(command.footer);
}

}  // namespace deepgap
