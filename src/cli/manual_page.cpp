#include "cli/flag_table.h"

#include "base/text.h"

#include <fmt/format.h>

#include <iterator>

namespace deepgap {
namespace {

// Text in roff: a dash is one that can be searched for, and no line begins with what would be a request.
std::string roff(const std::string& text) {
  std::string quoted;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool begins = i == 0 || text[i - 1] == '\n';
    if (begins && (c == '.' || c == '\'')) quoted += "\\&";
    quoted += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return quoted;
}

std::string heading_of(const FlagRow& flag) {
  const std::string value = flag.value.empty() ? "" : " \\fI" + roff(flag.value) + "\\fR";
  if (flag.names.empty()) return "\\fI" + roff(flag.value) + "\\fR";
  return "\\fB" + roff(join(flag.names, ", ")) + "\\fR" + value;
}

void add_command(const CommandRow& command, std::string& text) {
  auto out = std::back_inserter(text);
  fmt::format_to(out, ".SS deepgap {}\n{}.\n", roff(command.name), roff(command.describe));
  std::string group;
  for (const FlagRow& flag : command.flags) {
    if (flag.group != group && flag.group != "Options" && !flag.names.empty()) fmt::format_to(out, ".PP\n{}:\n", roff(flag.group));
    group = flag.group;
    fmt::format_to(out, ".TP\n{}\n{}\n", heading_of(flag), roff(flag.describe));
  }
  if (!command.examples.empty()) fmt::format_to(out, ".PP\nExamples:\n.nf\n{}.fi\n", roff(command.examples));
  if (!command.footer.empty()) fmt::format_to(out, ".PP\n.nf\n{}\n.fi\n", roff(trim(command.footer)));
}

}  // namespace

std::string manual_page(const std::vector<CommandRow>& commands, const std::string& version) {
  std::string text = fmt::format(
      ".TH DEEPGAP 1 \"\" \"deepgap {}\" \"User Commands\"\n"
      ".SH NAME\ndeepgap \\- measure how fast deep\\-learning models run, explain why, and help choose\n"
      ".SH SYNOPSIS\n.B deepgap\n.I COMMAND\n[\\fIflags\\fR]\n"
      ".SH DESCRIPTION\nEvery result is a record in a store, one SQLite file: deepgap.db if no other is named.\n"
      ".SH COMMANDS\n",
      roff(version));
  for (const CommandRow& command : commands) add_command(command, text);
  text +=
      ".SH EXIT STATUS\n"
      ".TP\n0\nEverything that was asked for was measured, and is valid.\n"
      ".TP\n1\nSomething failed, was refused, is invalid, or differs.\n"
      ".TP\n2\nA mistake in a flag, a name or a file; nothing was measured.\n"
      ".TP\n3\nThe store or standard output could not be written, or deepgap itself failed.\n"
      ".TP\n130\nInterrupted; what was finished is saved.\n"
      ".SH ENVIRONMENT\n"
      ".TP\nXDG_CACHE_HOME, HOME\nWhere the cache folder is: $XDG_CACHE_HOME/deepgap, or $HOME/.cache/deepgap.\n"
      ".TP\nDEEPGAP_PLUGINS\nWhere engines are looked for.\n"
      ".TP\nDEEPGAP_LIBTORCH, DEEPGAP_ONNXRUNTIME\nThe LibTorch and the ONNX Runtime library to use.\n";
  return text;
}

}  // namespace deepgap
