#include "fleet/program.h"

#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace deepgap {

std::string find_program(const std::string& name) {
  const auto runs = [](const std::string& path) {
    std::error_code error;
    return ::access(path.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(path, error);
  };
  if (name.find('/') != std::string::npos) return runs(name) ? name : "";
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path, ':')) {
    if (!folder.empty() && runs(folder + "/" + name)) return folder + "/" + name;
  }
  return "";
}

std::string shell_word(const std::string& text) {
  std::string word = "'";
  for (const char letter : text) word += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return word + "'";
}

ProgramResult run_program(const std::vector<std::string>& command, const std::string& remedy, std::chrono::seconds longest,
                          const std::map<std::string, std::string>& environment) {
  SubprocessOptions options;
  options.program = find_program(command.front());
  if (options.program.empty()) throw Error(ErrorKind::input, fmt::format("{} is not in $PATH: {}", command.front(), remedy));
  options.arguments = command;
  options.environment = environment;
  options.output_tail_bytes = size_t{64} << 20;
  Subprocess process(options);
  ProgramResult result;
  const auto exit = process.wait(std::chrono::duration_cast<std::chrono::milliseconds>(longest));
  result.timed_out = !exit;
  if (exit) result.exit = *exit;
  process.drain_output();
  result.output = process.output_tail();
  return result;
}

}  // namespace deepgap
