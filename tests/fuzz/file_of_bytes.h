// A file in memory that holds an input, for readers that take a path.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace deepgap::fuzz {

class FileOfBytes {
 public:
  FileOfBytes() : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)), path_("/proc/self/fd/" + std::to_string(descriptor_)) {
    if (descriptor_ < 0) std::abort();
  }
  const std::string& hold(const uint8_t* data, size_t size) {
    if (::ftruncate(descriptor_, 0) != 0 || ::pwrite(descriptor_, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
    return path_;
  }

 private:
  int descriptor_;
  std::string path_;
};

}  // namespace deepgap::fuzz
