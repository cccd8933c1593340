// One read() of a whole file into newly allocated memory: what loading it is measured against.
#pragma once

#include "base/file.h"

#include <deepgap/error.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace deepgap {

inline void read_once(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!file.valid() || ::fstat(file.get(), &info) != 0) throw Error(ErrorKind::input, "cannot open " + path);
  const auto size = static_cast<size_t>(info.st_size);
  void* memory = std::malloc(size);
  for (size_t done = 0; done < size;) {
    const ssize_t count = ::read(file.get(), static_cast<char*>(memory) + done, size - done);
    if (count <= 0) throw Error(ErrorKind::input, "cannot read " + path);
    done += static_cast<size_t>(count);
  }
  std::free(memory);
}

}  // namespace deepgap
