// `deepgap completion SHELL` and `deepgap manual`: made from the same tables as --help, so that they match this very program.
#include "base/messages.h"
#include "build_state.h"
#include "cli/flag_table.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

class CompletionCommand final : public Command {
 public:
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
  int run() override {
    fmt::print("{}", manual_page(command_rows(CommandLine()), DEEPGAP_VERSION));
    return exit_ok;
  }
};

const bool registered =
    add_command<CompletionCommand>({"completion",
                                    {CommandGroup::system, 7},
                                    "Print a completion script for a shell",
                                    "  deepgap completion bash > ~/.local/share/bash-completion/completions/deepgap\n"
                                    "  deepgap completion zsh > ~/.zfunc/_deepgap       if that folder is in $fpath\n",
                                    {},
                                    {"bash", "zsh"}}) &&
    add_command<ManualCommand>({"manual", {CommandGroup::system, 8}, "Print the manual page", "  deepgap manual | man -l -\n"});

}  // namespace
}  // namespace deepgap
