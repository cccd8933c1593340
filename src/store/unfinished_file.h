// A Store in the making: written under another name in its folder, and given its own name when it is whole, so that a kill or a full disk
// leaves no half of one. Only for src/store.
#pragma once

#include "base/file.h"

#include <string>

namespace deepgap {

class UnfinishedFile {
 public:
  // Made empty, which SQLite takes for a new file; where it cannot be made, whoever opens it says why.
  explicit UnfinishedFile(const std::string& target);
  ~UnfinishedFile();  // removes what was not kept
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  const std::string& path() const { return path_; }
  // `text` with the name that the user gave instead of the one of the unfinished file.
  std::string with_target_name(std::string text) const;
  // Synced, then under its name; a file that has this name already is refused, or with `replace` taken the place of. Throws Error{store}.
  void keep(bool replace = false) const;

 private:
  [[noreturn]] void fail() const;
  std::string target_, path_;
  FileDescriptor lock_;  // lock of path_: it is being written
};

}  // namespace deepgap
