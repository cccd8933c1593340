// `deepgap help [COMMAND]` and `deepgap version`: the words beside --help and --version.
#include "build_state.h"
#include "cli/command_line.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

class HelpCommand final : public Command {
 public:
  std::string name() const override { return "help"; }
  HelpPlace help_place() const override { return {CommandGroup::system, 9}; }
  std::string describe() const override { return "Show this help, or the help of a command"; }
  std::string examples() const override { return "  deepgap help run\n"; }
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
  std::string name() const override { return "version"; }
  HelpPlace help_place() const override { return {CommandGroup::system, 10}; }
  std::string describe() const override { return "Show the version of deepgap"; }
  std::string examples() const override { return "  deepgap version\n"; }
  void declare(CLI::App& /*app*/) override {}
  int run() override {
    fmt::print("deepgap {}\n", DEEPGAP_VERSION);
    return exit_ok;
  }
};

const bool registered = Registry<Command>::instance().add("help", [] { return std::make_unique<HelpCommand>(); }) &&
                        Registry<Command>::instance().add("version", [] { return std::make_unique<VersionCommand>(); });

}  // namespace
}  // namespace deepgap
