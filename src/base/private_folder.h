// A folder among those for temporary files that nobody else may look into and whose name nobody can foresee, removed with all that is in
// it.
#pragma once

#include "base/file.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

namespace deepgap {

class PrivateFolder {
 public:
  // `purpose` is a part of the name. Throws Error{input}.
  explicit PrivateFolder(const std::string& purpose) : path_(fmt::format("{}/deepgap-{}-XXXXXX", folder_for_temporary_files(), purpose)) {
    if (::mkdtemp(path_.data()) == nullptr)
      throw Error(ErrorKind::input, fmt::format("cannot make a folder {}: {}", path_, std::strerror(errno)));
  }
  ~PrivateFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace deepgap
