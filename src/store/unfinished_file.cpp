#include "store/unfinished_file.h"

#include "base/unfinished_file.h"

#include <deepgap/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace deepgap {

UnfinishedFile::UnfinishedFile(const std::string& target) : target_(target), lock_(make_unfinished_file(target, path_)) {}

UnfinishedFile::~UnfinishedFile() {
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) ::unlink((path_ + suffix).c_str());
}

std::string UnfinishedFile::with_target_name(std::string text) const {
  const size_t at = text.find(path_);
  if (at != std::string::npos) text.replace(at, path_.size(), target_);
  return text;
}

void UnfinishedFile::keep(bool replace) const {
  const FileDescriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid() || ::fsync(file.get()) != 0) fail();
  if (replace) {
    if (::rename(path_.c_str(), target_.c_str()) != 0) fail();
    return;
  }
  // link() rather than rename(): it refuses to replace a file that appeared meanwhile.
  if (::link(path_.c_str(), target_.c_str()) != 0) {
    const bool no_links = errno == EPERM || errno == EOPNOTSUPP;
    if (!no_links || ::rename(path_.c_str(), target_.c_str()) != 0) fail();
  }
}

void UnfinishedFile::fail() const {
  throw Error(ErrorKind::store, fmt::format("cannot write store {}: {}", target_, std::strerror(errno)));
}

}  // namespace deepgap
