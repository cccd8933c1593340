// `deepgap completion SHELL` and `deepgap manual`: made from the same tables as --help, so that they match this very program.
#include "base/messages.h"
#include "base/text.h"
#include "build_state.h"
#include "cli/flag_table.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

class CompletionCommand final : public Command {
 public:
  std::string name() const override { return "completion"; }
  HelpPlace help_place() const override { return {CommandGroup::system, 7}; }
  std::string describe() const override { return "Print a completion script for a shell"; }
  std::string examples() const override {
    return "  deepgap completion bash > ~/.local/share/bash-completion/completions/deepgap\n"
           "  deepgap completion zsh > ~/.zfunc/_deepgap       if that folder is in $fpath\n";
  }
  void declare(CLI::App& app) override { app.add_option("shell", shell_, "Shell: bash or zsh")->type_name("SHELL")->required(); }
  int run() override {
    if (shell_ != "bash" && shell_ != "zsh") throw Error(ErrorKind::usage, invalid_choice(shell_, "SHELL", {"bash", "zsh"}));
    const std::vector<CommandRow> rows = command_rows(CommandLine());
    fmt::print("{}", shell_ == "bash" ? bash_completion(rows) : zsh_completion(rows));
    return exit_ok;
  }

 private:
  std::string shell_;
};

class ManualCommand final : public Command {
 public:
  std::string name() const override { return "manual"; }
  HelpPlace help_place() const override { return {CommandGroup::system, 8}; }
  std::string describe() const override { return "Print the manual page"; }
  std::string examples() const override { return "  deepgap manual | man -l -\n"; }
  void declare(CLI::App& /*app*/) override {}
  int run() override {
    fmt::print("{}", manual_page(command_rows(CommandLine()), DEEPGAP_VERSION));
    return exit_ok;
  }
};

const bool registered = Registry<Command>::instance().add("completion", [] { return std::make_unique<CompletionCommand>(); }) &&
                        Registry<Command>::instance().add("manual", [] { return std::make_unique<ManualCommand>(); });

}  // namespace
}  // namespace deepgap
