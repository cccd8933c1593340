// deepgap: see README.md. Each subcommand stands in its own cmd_*.cpp.
#include "base/words.h"
#include "build_state.h"
#include "cli/command.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <map>

namespace deepgap {
namespace {

// "Could not convert: --repeats = x" is what CLI11 says of a flag that takes a number.
std::string in_our_words(const std::string& message) {
  constexpr std::string_view prefix = "Could not convert: ", middle = " = ";
  const auto at = message.find(middle);
  if (!message.starts_with(prefix) || at == std::string::npos) return message;
  const auto flag = message.substr(prefix.size(), at - prefix.size());
  return fmt::format("{} '{}' is no number, or none that it can be", flag, message.substr(at + middle.size()));
}

constexpr const char* summary =
    "deepgap measures how fast deep-learning models run on this machine, explains why, and helps choose.\n"
    "Start with: deepgap run studies/quickstart.toml";

int exit_code_for(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
    case ErrorKind::input:
      return exit_usage;
    case ErrorKind::refused:
    case ErrorKind::out_of_memory:
    case ErrorKind::device_lost:
      return exit_points_failed;
    default:
      return exit_internal;
  }
}

// One row a subcommand, made once; `commands` keeps the flags' values alive while CLI11 parses into them.
std::map<CLI::App*, std::unique_ptr<Command>> declare_commands(CLI::App& app) {
  std::map<CLI::App*, std::unique_ptr<Command>> commands;
  const auto& registry = Registry<Command>::instance();
  for (const std::string& name : registry.names()) {
    auto command = registry.make("command", name);
    CLI::App* sub = app.add_subcommand(name, command->describe());
    if (command->hidden()) sub->group("");
    command->declare(*sub);
    sub->allow_extras();  // unknown flags are ours to name, with what was probably meant
    commands.emplace(sub, std::move(command));
  }
  return commands;
}

// CLI11's own message for a wrong word is a list of what is required; ours names the slip.
std::optional<std::string> unknown_command(int argc, char** argv) {
  const auto& registry = Registry<Command>::instance();
  if (argc < 2 || argv[1][0] == '-' || registry.contains(argv[1])) return std::nullopt;
  return unknown_name("command", argv[1], registry.names());
}

void refuse_extras(const CLI::App& command) {
  const std::vector<std::string> extras = command.remaining();
  if (extras.empty()) return;
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  const auto flag = std::find_if(extras.begin(), extras.end(), [](const std::string& extra) { return extra.starts_with("-"); });
  if (flag != extras.end()) throw Error(ErrorKind::usage, unknown_name("flag", flag->substr(0, flag->find('=')), known));
  throw Error(ErrorKind::usage,
              fmt::format("'{}' is one word too many; deepgap {} --help says what it takes", extras.front(), command.get_name()));
}

int run_main(int argc, char** argv) {
  CLI::App app{summary, "deepgap"};
  app.set_version_flag("--version", std::string("deepgap " DEEPGAP_VERSION));
  app.require_subcommand(1);
  const auto commands = declare_commands(app);
  if (const auto message = unknown_command(argc, argv)) throw Error(ErrorKind::usage, *message);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForVersion& version) {
    return app.exit(version);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    const bool named = !app.get_subcommands().empty();
    const std::string command = named ? " " + app.get_subcommands().front()->get_name() : "";
    throw Error(ErrorKind::usage, fmt::format("{}; see deepgap{} --help", in_our_words(error.what()), command));
  }
  CLI::App* command = app.get_subcommands().front();
  refuse_extras(*command);
  return commands.at(command)->run();
}

}  // namespace
}  // namespace deepgap

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of write(), not the end of a run
  try {
    return deepgap::run_main(argc, argv);
  } catch (const deepgap::Error& error) {
    fmt::print(stderr, "deepgap: {}\n", deepgap::printable(error.what()));  // which may quote a file
    return deepgap::exit_code_for(error.kind());
  } catch (const std::exception& error) {
    fmt::print(stderr, "deepgap: internal error: {}\n", deepgap::printable(error.what()));
    return deepgap::exit_internal;
  }
}
