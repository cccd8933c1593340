#include "run/open_store.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {
namespace {

std::pair<dev_t, ino_t> identity_of_file(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  return {info.st_dev, info.st_ino};
}

}  // namespace

OpenStore::OpenStore(const std::string& path) : path_(path), store_(path, Store::Mode::append), file_(identity_of_file(path)) {}

void OpenStore::append(const Record& record) {
  require_in_place();
  store_.append(record);
}

void OpenStore::append(std::span<const Record> records) {
  require_in_place();
  store_.append(records);
}

void OpenStore::require_in_place() const {
  if (identity_of_file(path_) == file_) return;
  throw Error(ErrorKind::store, fmt::format("{} was removed or replaced while the run wrote to it", path_));
}

}  // namespace deepgap
