// `deepgap help [COMMAND]` and `deepgap version`: the words beside --help and --version.
#include "build_state.h"
#include "cli/command_line.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

class HelpCommand final : public Command {
 public:
  void declare(CLI::App& app) override { app.add_option("command", command_, "Command to explain")->type_name("COMMAND"); }
  int run() override {
    fmt::print("{}", CommandLine().help(command_));
    return exit_ok;
  }

 private:
  std::string command_;
};

class VersionCommand final : public Command {
 public:
  int run() override {
    fmt::print("deepgap {}\n", DEEPGAP_VERSION);
    return exit_ok;
  }
};

const bool registered =
    add_command<HelpCommand>({"help", {CommandGroup::system, 9}, "Show this help, or the help of a command", "  deepgap help run\n"}) &&
    add_command<VersionCommand>({"version", {CommandGroup::system, 10}, "Show the version of deepgap", "  deepgap version\n"});

}  // namespace
}  // namespace deepgap
