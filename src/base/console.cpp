#include "base/console.h"

#include "base/words.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <iterator>
#include <system_error>

namespace deepgap {

void hold_standard_descriptors() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    [[maybe_unused]] const int opened = ::open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY);  // the lowest that is free
  }
}

namespace {

constexpr std::string_view utf8_names[] = {"UTF-8", "utf-8", "UTF8", "utf8"};

bool is_utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale = value;
    return std::any_of(std::begin(utf8_names), std::end(utf8_names),
                       [&](std::string_view utf8) { return locale.find(utf8) != std::string_view::npos; });
  }
  return false;
}

}  // namespace

std::string for_locale(std::string_view text) {
  constexpr std::string_view sign = "±";
  std::string shown(text);
  if (shown.find(sign) == std::string::npos || is_utf8_locale()) return shown;
  for (size_t at = shown.find(sign); at != std::string::npos; at = shown.find(sign, at)) shown.replace(at, sign.size(), "+/-");
  return shown;
}

void say(std::FILE* out, std::string_view text) noexcept {
  const std::string shown = text.find("±") == std::string_view::npos ? std::string() : for_locale(text);  // usually nothing is allocated
  if (!shown.empty()) text = shown;
  std::fwrite(text.data(), 1, text.size(), out);
  std::fflush(out);
  std::clearerr(out);
}

void print_text(std::string_view text) { fmt::print("{}", for_locale(printable_lines(text))); }

void flush_standard_output() {
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) throw std::system_error(errno != 0 ? errno : EIO, std::generic_category());
}

void end_by_closed_pipe() {
  std::signal(SIGPIPE, SIG_DFL);
  std::raise(SIGPIPE);
  ::_exit(128 + SIGPIPE);  // where it is blocked
}

}  // namespace deepgap
