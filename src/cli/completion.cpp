#include "cli/flag_table.h"

#include "base/text.h"

#include <fmt/format.h>

#include <iterator>

namespace deepgap {
namespace {

std::vector<std::string> all_flags(const CommandRow& command) {
  std::vector<std::string> names;
  for (const FlagRow& flag : command.flags) names.insert(names.end(), flag.names.begin(), flag.names.end());
  return names;
}

// Returns the part of the shell's function that completes a word behind a flag of this kind.
std::string bash_values(const FlagRow& flag) {
  switch (flag.takes) {
    case Takes::folder:
      return "compopt -o filenames; COMPREPLY=($(compgen -d -- \"$word\"))";
    case Takes::file:
      return "compopt -o filenames; COMPREPLY=($(compgen -f -- \"$word\"))";
    case Takes::one_of:
      return fmt::format("compopt -o filenames; COMPREPLY=($(compgen -f -W '{}' -- \"$word\"))", join(flag.choices, " "));
    default:
      return "COMPREPLY=()";
  }
}

void add_bash_command(const CommandRow& command, std::string& text) {
  auto out = std::back_inserter(text);
  fmt::format_to(out, "    {})\n      case $before in\n", command.name);
  std::string word = "compopt -o filenames; COMPREPLY=($(compgen -f -- \"$word\"))";
  for (const FlagRow& flag : command.flags) {
    if (flag.names.empty()) word = bash_values(flag);
    if (flag.takes != Takes::nothing && !flag.names.empty())
      fmt::format_to(out, "        {}) {}; return ;;\n", join(flag.names, "|"), bash_values(flag));
  }
  fmt::format_to(out, "      esac\n      flags='{}'\n      [[ $word != -* ]] && {{ {}; return; }} ;;\n", join(all_flags(command), " "),
                 word);
}

// Inside '...[...]' of zsh's _arguments.
std::string zsh_text(const std::string& text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      if (c == '[' || c == ']' || c == ':' || c == '\\') quoted += '\\';
      quoted += c;
    }
  }
  return quoted;
}

std::string zsh_values(const FlagRow& flag) {
  const std::string value = zsh_text(flag.value.empty() ? "value" : flag.value);
  switch (flag.takes) {
    case Takes::nothing:
      return "";
    case Takes::folder:
      return fmt::format(":{}:_files -/", value);
    case Takes::file:
      return fmt::format(":{}:_files", value);
    case Takes::one_of: {
      std::vector<std::string> choices;
      for (const std::string& choice : flag.choices) choices.push_back(zsh_text(choice));
      return fmt::format(":{}:_deepgap_choices {}", value, join(choices, " "));
    }
    default:
      return fmt::format(":{}: ", value);
  }
}

}  // namespace

std::string bash_completion(const std::vector<CommandRow>& commands) {
  std::string text =
      "# Completion of deepgap for bash: source this file, or keep it as\n"
      "# ~/.local/share/bash-completion/completions/deepgap. Made by: deepgap completion bash\n"
      "_deepgap() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} flags=\n";
  std::vector<std::string> names;
  for (const CommandRow& command : commands) names.push_back(command.name);
  fmt::format_to(std::back_inserter(text),
                 "  if ((COMP_CWORD == 1)); then COMPREPLY=($(compgen -W '{} --help --version' -- \"$word\")); return; fi\n",
                 join(names, " "));
  text += "  case ${COMP_WORDS[1]} in\n";
  for (const CommandRow& command : commands) add_bash_command(command, text);
  text += "  esac\n  COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n}\ncomplete -F _deepgap deepgap\n";
  return text;
}

std::string zsh_completion(const std::vector<CommandRow>& commands) {
  std::string text =
      "#compdef deepgap\n"
      "# Completion of deepgap for zsh: keep this file as _deepgap in a folder of $fpath. Made by: deepgap completion zsh\n"
      "_deepgap_choices() { _alternative \"choices:choice:($*)\" 'files:file:_files' }\n"
      "_deepgap() {\n"
      "  if ((CURRENT == 2)); then\n"
      "    local -a commands=(\n";
  auto out = std::back_inserter(text);
  for (const CommandRow& command : commands) fmt::format_to(out, "      '{}:{}'\n", command.name, zsh_text(command.describe));
  text +=
      "    )\n    _describe command commands\n    return\n  fi\n  local command=$words[2]\n  shift words\n  ((CURRENT--))\n  case $command "
      "in\n";
  for (const CommandRow& command : commands) {
    fmt::format_to(out, "    {})\n      _arguments \\\n", command.name);
    std::string word = "'*:file:_files'";
    for (const FlagRow& flag : command.flags) {
      if (flag.names.empty()) word = fmt::format("'*{}'", zsh_values(flag));
      for (const std::string& name : flag.names)
        fmt::format_to(out, "        '*{}[{}]{}' \\\n", name, zsh_text(flag.describe), zsh_values(flag));
    }
    fmt::format_to(out, "        {} ;;\n", word);
  }
  text += "  esac\n}\n[[ $funcstack[1] == _deepgap ]] && _deepgap \"$@\" || compdef _deepgap deepgap\n";
  return text;
}

}  // namespace deepgap
