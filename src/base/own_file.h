// The owner of a file in the cache.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace deepgap {

// Returns whether a file is this user's or root's. Files that decide whether answers are right, or what is run, must be, because others may
// write to the folder. False also if it is not a regular file.
inline bool is_own_file(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) && (found.st_uid == ::geteuid() || found.st_uid == 0);
}

}  // namespace deepgap
