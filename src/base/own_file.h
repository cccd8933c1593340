// Files of the cache, to whose folder others may write.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <string_view>

namespace deepgap {

// Returns whether a file is this user's or root's. Files that decide whether answers are right, or what is run, must be, because others may
// write to the folder; a link of another user's leads where he chose. False also if it is not a regular file.
inline bool is_own_file(const std::string& path) {
  const auto is_own = [](const struct stat& file) { return file.st_uid == ::geteuid() || file.st_uid == 0; };
  struct stat named {
  }, found{};
  if (::lstat(path.c_str(), &named) != 0 || !is_own(named)) return false;
  return ::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) && is_own(found);
}

// Writes a file that readers see whole or not at all. What has this name already is replaced whatever it is, a link too: another user may
// have put it there. Throws Error{input}.
void replace_file(const std::string& path, std::string_view content);

}  // namespace deepgap
