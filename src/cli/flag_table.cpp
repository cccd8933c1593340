#include "cli/flag_table.h"

#include "cli/run_axes.h"
#include "model/zoo/zoo.h"
#include "scenario/scenario.h"
#include "worker/plugin.h"

#include <algorithm>

namespace deepgap {
namespace {

bool named(const FlagRow& flag, const char* name) { return std::find(flag.names.begin(), flag.names.end(), name) != flag.names.end(); }

using Names = std::vector<std::string>;

// Returns what can complete this word of a command; files beside it if a path may stand there too.
Names choices_of_word(const CommandInfo& command, const std::string& word, const Names& commands) {
  if (!command.words.empty()) return command.words;
  if (command.name == "help") return commands;
  if (word == "model" || word == "what") return zoo_names();
  if (word == "backend") return plugin_names();
  return {};
}

// Returns the same for a word behind a flag.
Names choices_of(const FlagRow& flag) {
  if (named(flag, "--model")) return zoo_names();
  if (named(flag, "--scenario")) return Registry<Scenario>::instance().names();
  if (named(flag, "--backend") || named(flag, "--against")) return plugin_names();
  if (named(flag, "--device")) return {"cpu", "cuda:0"};
  if (named(flag, "--dataset")) return {"crops", "pictures", "seeded", "zeros"};
  if (named(flag, "--weights")) return {"imagenet", "seeded"};
  if (named(flag, "--check")) return {"off", "on"};
  for (const std::string& name : flag.names) {
    const OptionInfo* info = axis_info(axis_of_flag(name));
    if (info != nullptr && info->kind == OptionKind::choice) return info->words;
  }
  return {};
}

Takes takes_of(const std::string& value, const FlagRow& flag) {
  if (!flag.choices.empty()) return Takes::one_of;
  if (value.find("DIR") != value.npos || value.find("FOLDER") != value.npos) return Takes::folder;
  for (const char* word : {"FILE", "STORE", "PATH", ".toml", ".onnx", ".json"})
    if (value.find(word) != value.npos) return Takes::file;
  return Takes::text;
}

FlagRow row_of(const CommandInfo& command, const CLI::Option& option, const Names& commands) {
  FlagRow row;
  for (const std::string& name : option.get_snames()) row.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) row.names.push_back("--" + name);
  row.group = option.get_group();
  row.describe = option.get_description();
  row.required = option.get_required();
  row.several = option.get_items_expected_max() > 1;
  if (row.describe.find("[default:") == std::string::npos) row.default_value = option.get_default_str();
  if (option.get_items_expected_max() == 0) return row;
  row.value = option.get_type_name();
  row.choices = row.names.empty() ? choices_of_word(command, option.get_name(), commands) : choices_of(row);
  row.takes = takes_of(row.value, row);
  return row;
}

}  // namespace

CommandRow command_row(const CommandLine& line, const CLI::App& shown) {
  Names commands;
  for (const CLI::App* sub : line.shown()) commands.push_back(sub->get_name());
  const Command& command = line.command(shown);
  CommandRow row{shown.get_name(), shown.get_description(), command.info.examples, shown.get_footer(), {}, command.info.place};
  const Names common = command.info.common_flags;
  for (const CLI::Option* option : shown.get_options()) {
    row.flags.push_back(row_of(command.info, *option, commands));
    FlagRow& flag = row.flags.back();
    flag.common = std::any_of(common.begin(), common.end(), [&](const std::string& name) { return named(flag, name.c_str()); });
  }
  // What CLI11 puts first, and people look for last.
  std::stable_partition(row.flags.begin(), row.flags.end(),
                        [](const FlagRow& flag) { return !named(flag, "-h") && !named(flag, "--help"); });
  return row;
}

std::vector<CommandRow> command_rows(const CommandLine& line) {
  std::vector<CommandRow> rows;
  for (const CLI::App* sub : line.shown()) rows.push_back(command_row(line, *sub));
  return rows;
}

}  // namespace deepgap
