// deepgap: see README.md. Each subcommand stands in its own cmd_*.cpp.
#include "base/console.h"
#include "base/json_words.h"
#include "base/words.h"
#include "cli/command_line.h"
#include "run/progress.h"
#include "run/text_table.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace deepgap {
namespace {

// What an error quotes, such as a name in a file, may be a megabyte long.
constexpr size_t longest_message = 4096;

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

// What a script would have read did not arrive: that is a failure, though the work was done.
int output_failed(int error) {
  if (error == EPIPE) end_by_closed_pipe();
  say(stderr, fmt::format("deepgap: cannot write standard output: {}\n", std::strerror(error)));
  return exit_internal;
}

// A relative path cannot be made absolute once the current folder was removed.
bool comes_from_gone_folder(const std::system_error& error) {
  std::error_code gone;
  static_cast<void>(std::filesystem::current_path(gone));
  return gone && dynamic_cast<const std::filesystem::filesystem_error*>(&error) != nullptr;
}

int run_main(const std::vector<std::string>& arguments) {
  CommandLine line(arguments);
  Command* command = line.parse(arguments);
  if (command == nullptr) return exit_ok;
  try {
    return command->run();
  } catch (const Error& error) {
    throw Error(error.kind(), line.with_flags(error.what()));
  }
}

}  // namespace
}  // namespace deepgap

int main(int argc, char** argv) {
  using namespace deepgap;
  hold_standard_descriptors();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of write(), not the end of a run
  std::signal(SIGXFSZ, SIG_IGN);  // and so is a file-size limit: what was begun is taken away again
  int code = exit_internal;
  try {
    code = run_main({argv + std::min(argc, 1), argv + argc});
    flush_standard_output();
  } catch (const Error& error) {
    const std::string message = fmt::format("deepgap: {}\n", one_line(error.what(), longest_message));  // it may quote a file
    say(stderr, wrapped_lines(message, terminal_columns(stderr)));
    code = exit_code_for(error.kind());
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) != 0) return output_failed(error.code().value());  // thrown by fmt::print
    if (comes_from_gone_folder(error)) {
      say(stderr, "deepgap: the current folder no longer exists: change to another one, or give absolute paths\n");
      return exit_usage;
    }
    say(stderr, fmt::format("deepgap: internal error: {}\n", printable(error.what())));
  } catch (const std::exception& error) {
    say(stderr, fmt::format("deepgap: internal error: {}\n", printable(json_words(error))));
  }
  return code;
}
