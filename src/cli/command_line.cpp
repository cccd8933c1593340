#include "cli/command_line.h"

#include "base/messages.h"
#include "base/text.h"
#include "build_state.h"
#include "cli/axis_values.h"
#include "cli/help_text.h"
#include "cli/spellings.h"
#include "left_out.h"
#include "record/point_command.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <regex>

namespace deepgap {
namespace {

constexpr const char* summary = "Measure, explain and choose how deep-learning models run";

// CLI11's messages: "Could not convert: --repeats = x" for a flag that takes a number, "--store: 1 required FILE missing", and
// "store: At Most 2 required but received 3".
std::string in_our_words(const std::string& message) {
  static const std::regex missing("(.*): 1 required (.*) missing"), too_many("(.*): At Most (\\d+) required but received (\\d+)");
  std::smatch parts;
  if (std::regex_match(message, parts, missing)) return fmt::format("{}: its value, {}, is missing", parts.str(1), parts.str(2));
  if (std::regex_match(message, parts, too_many))
    return fmt::format("{} is given {} times: at most {} are allowed", parts.str(1), parts.str(3), parts.str(2));
  constexpr std::string_view prefix = "Could not convert: ", middle = " = ";
  const auto at = message.find(middle);
  if (!message.starts_with(prefix) || at == std::string::npos) return message;
  const auto flag = message.substr(prefix.size(), at - prefix.size());
  return invalid_value(message.substr(at + middle.size()), flag, "a number, such as 10");
}

OwnFlags flags_of(const CLI::App& command) {
  OwnFlags flags;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.names.push_back(name);
    for (const std::string& name : option->get_snames()) {
      flags.letters += name;
      if (option->get_items_expected_max() == 0) flags.switches += name;
    }
  }
  return flags;
}

bool exists(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0;
}

// `deepgap resnet50` and `deepgap net.onnx` lack a word.
std::string unknown_command(const std::string& word, const std::vector<std::string>& names) {
  if (exists(word) || is_study_word(word) || word.ends_with(".onnx") || is_zoo_name(word))
    return fmt::format("unknown command '{}'; to measure it: deepgap run {}", word, shell_quoted(word));
  const auto near = nearest_name(word, names);
  return near ? fmt::format("unknown command '{}', did you mean '{}'?", word, *near)
              : fmt::format("unknown command '{}'; deepgap --help lists them", word);
}

// A flag where a command is expected.
std::string before_any_command(const std::string& flag) {
  if (flag == "-h" || flag == "--help" || flag == "--version") return flag;
  if (flag == "-help") return "--help";
  if (flag == "-V" || flag == "-version") return "--version";
  throw Error(ErrorKind::usage,
              fmt::format("flag '{}' comes before the command; write flags after it (deepgap --help lists commands)", flag));
}

// `deepgap backends list` lists them, as `deepgap backends` does.
bool is_idle_word(const std::string& command, const std::vector<std::string>& arguments) {
  return arguments.size() > 1 && arguments[1] == "list" && (command == "backends" || command == "devices" || command == "models");
}

// Returns every name of each option that was given, and each name with its value.
Features given_features(const CLI::App& command) {
  Features features;
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0) continue;
    std::vector<std::string> names = option->get_lnames();
    for (std::string& name : names) name.insert(0, "--");
    if (option->get_positional()) names.push_back(option->get_single_name());
    for (const std::string& name : names) {
      features.emplace(name, name);
      for (const std::string& value : option->results()) features.emplace(name + "=" + value, name + " " + value);
    }
  }
  return features;
}

}  // namespace

void refuse_left_out(const std::string& word) {
  if (const auto found = left_out_words.find(word); found != left_out_words.end())
    throw Error(ErrorKind::usage, fmt::format("this deepgap was built without '{}': configure it with -D{}=ON", word, found->second));
}

CommandLine::CommandLine(const std::vector<std::string>& arguments) : app_(summary, "deepgap") {
  app_.set_help_flag("-h", "Show common flags");
  app_.set_help_all_flag("--help", "Show all flags");
  app_.set_version_flag("--version", std::string("deepgap " DEEPGAP_VERSION));
  app_.require_subcommand(1);
  const auto& registry = Registry<Command>::instance();
  for (const std::string& name : registry.names()) {
    auto command = registry.make("command", name);
    CLI::App* sub = app_.add_subcommand(name, command->info.describe);
    if (command->info.hidden) sub->group("");
    if (arguments.empty() || arguments.front() == name) command->declare(*sub);
    sub->allow_extras();  // unknown flags are ours to name, with what was probably meant
    commands_.emplace(sub, std::move(command));
  }
}

std::vector<const CLI::App*> CommandLine::shown() const {
  std::vector<const CLI::App*> shown;
  for (const CLI::App* sub : app_.get_subcommands([](const CLI::App*) { return true; })) {
    if (!commands_.at(sub)->info.hidden) shown.push_back(sub);
  }
  std::sort(shown.begin(), shown.end(), [](const CLI::App* a, const CLI::App* b) { return a->get_name() < b->get_name(); });
  return shown;
}

std::string CommandLine::help(const std::string& name, bool complete) const {
  if (name.empty()) return program_help(command_rows(*this));
  std::vector<std::string> names;
  for (const CLI::App* sub : shown()) {
    names.push_back(sub->get_name());
    if (sub->get_name() == name) return command_help(command_row(*this, *sub), complete ? HelpLength::complete : HelpLength::common);
  }
  throw Error(ErrorKind::usage, unknown_name("command", name, names));
}

std::vector<std::string> CommandLine::spelled(const std::vector<std::string>& arguments) const {
  if (arguments.empty()) return arguments;
  if (arguments.front().starts_with("-")) return {before_any_command(arguments.front())};
  std::vector<std::string> names;
  for (const CLI::App* sub : app_.get_subcommands([](const CLI::App*) { return true; })) {
    const bool hidden = commands_.at(sub)->info.hidden;
    if (!hidden) names.push_back(sub->get_name());
    if (sub->get_name() != arguments.front()) continue;
    if (hidden) return arguments;
    std::vector<std::string> words = in_our_spelling(
        sub->get_name(), {arguments.begin() + (is_idle_word(sub->get_name(), arguments) ? 2 : 1), arguments.end()}, flags_of(*sub));
    words.insert(words.begin(), arguments.front());
    return words;
  }
  refuse_left_out(arguments.front());
  throw Error(ErrorKind::usage, unknown_command(arguments.front(), names));
}

void CommandLine::refuse_unknown_flag(const CLI::App& command) const {
  const std::vector<std::string> extras = command.remaining();
  const auto flag = std::find_if(extras.begin(), extras.end(), [](const std::string& extra) { return extra.starts_with("-"); });
  if (flag == extras.end()) return;
  const std::string name = flag->substr(0, flag->find('='));
  refuse_left_out(name);
  std::vector<std::string> known;
  for (const std::string& own : flags_of(command).names) known.push_back("--" + own);
  const auto near = nearest_name(name, known);
  throw Error(ErrorKind::usage, near ? fmt::format("unknown flag '{}', did you mean '{}'?", name, *near)
                                     : fmt::format("unknown flag '{}'; deepgap {} --help lists them", name, command.get_name()));
}

// An unset variable of a shell's: a command would take it for a word or a flag that is not there, and work on more than was meant.
void CommandLine::refuse_empty(const CLI::App& command) const {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_expected_min() == 0) continue;  // its value may be left out
    const std::vector<std::string> values = option->results();
    if (std::none_of(values.begin(), values.end(), [](const std::string& value) { return value.empty(); })) continue;
    const std::string name = option->get_lnames().empty() ? option->get_type_name() : "--" + option->get_lnames().front();
    throw Error(ErrorKind::usage, fmt::format("{} is empty: give it a value, or leave it out (is a variable unset?)", name));
  }
}

void CommandLine::refuse_extras(const CLI::App& command) const {
  refuse_unknown_flag(command);
  const std::vector<std::string> extras = command.remaining();
  if (extras.empty()) return;
  throw Error(ErrorKind::usage, fmt::format("unexpected argument '{}'; see deepgap {} -h", extras.front(), command.get_name()));
}

// CLI11 names a word that is missing by its key, such as "what"; the help shows "STUDY.toml|VERB".
std::string CommandLine::as_in_the_help(const std::string& message) const {
  for (const CLI::App* sub : app_.get_subcommands()) {
    for (const CLI::Option* option : sub->get_options())
      if (option->get_positional() && message == option->get_name() + " is required") return option->get_type_name() + " is required";
  }
  return message;
}

std::string CommandLine::with_flags(const std::string& message) const {
  constexpr std::string_view before = "' for ", after = ": expected ";
  const size_t at = message.find(before), end = at == std::string::npos ? at : message.find(after, at);
  if (!message.starts_with("invalid value '") || end == std::string::npos) return message;
  const size_t begin = at + before.size();
  std::string flag = message.substr(begin, end - begin);
  flag.erase(0, flag.starts_with("--") ? 2 : 0);
  std::replace(flag.begin(), flag.end(), '_', '-');
  for (const CLI::App* sub : app_.get_subcommands()) {
    const CLI::Option* option = sub->get_option_no_throw("--" + flag);
    if (option == nullptr || option->count() == 0) continue;
    for (const std::string& name : option->get_lnames()) {
      const auto is_it = [&](const std::string& word) { return word == "--" + name || word.starts_with("--" + name + "="); };
      if (std::any_of(written_.begin(), written_.end(), is_it)) flag = name;
    }
    return message.substr(0, begin) + "--" + flag + message.substr(end);
  }
  return message;
}

Command* CommandLine::parse(const std::vector<std::string>& arguments) {
  written_ = arguments;
  const auto asked = [&] { return app_.get_subcommands().empty() ? "" : app_.get_subcommands().front()->get_name(); };
  std::vector<std::string> words = spelled(arguments);
  std::reverse(words.begin(), words.end());  // as CLI11 takes them
  try {
    app_.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", help(asked(), false));
    return nullptr;
  } catch (const CLI::CallForAllHelp&) {
    fmt::print("{}", help(asked()));
    return nullptr;
  } catch (const CLI::CallForVersion& version) {
    fmt::print("{}\n", version.what());
    return nullptr;
  } catch (const CLI::ParseError& error) {
    if (arguments.empty()) throw Error(ErrorKind::usage, "missing command; deepgap --help lists the commands");
    // First, since the value of a flag that is none was counted with the words.
    for (const CLI::App* sub : app_.get_subcommands()) refuse_unknown_flag(*sub);
    const std::string command = asked().empty() ? "" : " " + asked();
    throw Error(ErrorKind::usage, fmt::format("{}; see deepgap{} --help", in_our_words(as_in_the_help(error.what())), command));
  }
  CLI::App* sub = app_.get_subcommands().front();
  refuse_extras(*sub);
  Command* command = commands_.at(sub).get();
  if (!command->info.hidden) refuse_empty(*sub);
  command->given = given_features(*sub);
  refuse_conflicts(command->info.name, command->features());
  return command;
}

}  // namespace deepgap
