#include "run/run_study.h"

#include "base/console.h"
#include "base/file.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace deepgap {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool can_be_written(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return ::access(folder.c_str(), W_OK | X_OK) == 0;
}

// Anybody may have put something there: it must be a folder of this user's that no other may write.
std::string temporary_cache() {
  std::string folder = fmt::format("{}/deepgap-cache-{}", folder_for_temporary_files(), ::getuid());
  ::mkdir(folder.c_str(), 0700);
  struct stat found {};
  if (::lstat(folder.c_str(), &found) != 0 || !S_ISDIR(found.st_mode) || found.st_uid != ::getuid() || (found.st_mode & 022) != 0)
    throw Error(ErrorKind::input, fmt::format("{} is not a folder of this user's alone; name one with --cache", folder));
  return folder;
}

}  // namespace

std::string default_cache_dir() {
  std::string wanted;
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) {
    wanted = cache + "/deepgap";
  } else if (const std::string home = variable("HOME"); !home.empty()) {
    wanted = home + "/.cache/deepgap";
  }
  if (!wanted.empty() && can_be_written(wanted)) return wanted;
  static const std::string instead = [&] {
    std::string folder = temporary_cache();
    say(stderr, fmt::format("note: {}; the cache is {} (--cache names another)\n",
                            wanted.empty() ? "neither HOME nor XDG_CACHE_HOME is set" : wanted + " cannot be written", folder));
    return folder;
  }();
  return instead;
}

}  // namespace deepgap
