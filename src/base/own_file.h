// Whose a file of the cache is.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace deepgap {

// What decides whether answers are right, or what is run, is this user's or root's, not whoever else may write to the folder. False also
// where there is no regular file.
inline bool is_own_file(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) && (found.st_uid == ::geteuid() || found.st_uid == 0);
}

}  // namespace deepgap
