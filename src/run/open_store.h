// The Store that a run writes to. Main thread.
#pragma once

#include "store/store.h"

#include <sys/stat.h>

#include <span>
#include <string>
#include <utility>

namespace deepgap {

class OpenStore {
 public:
  explicit OpenStore(const std::string& path);  // throws as Store does

  const Store& store() const { return store_; }
  // Throw Error{store} also where the file was removed or replaced: SQLite writes on into a file that nobody can find any more.
  void append(const Record& record);
  void append(std::span<const Record> records);

 private:
  void require_in_place() const;

  std::string path_;
  Store store_;
  std::pair<dev_t, ino_t> file_;
};

}  // namespace deepgap
