// Files and descriptors. Every error is an Error{input} naming the path and the system's reason.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace deepgap {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~FileDescriptor() { close(); }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void close();
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

// A read-only, page-cache backed view of a whole regular file; populated at once. Bytes live as long as any copy.
struct MappedFile {
  std::shared_ptr<const std::byte> data;
  size_t size = 0;
  std::span<const std::byte> bytes() const { return {data.get(), size}; }
};
MappedFile map_file(const std::string& path);

std::string read_text(const std::string& path, size_t limit_bytes = size_t{64} << 20);
// Readers see the old file or the new one, never half of one; links and devices: base/output_file.h.
void write_file_atomic(const std::string& path, std::string_view content);
void make_directories(const std::string& path);
// Returns the folder for temporary files: $TMPDIR if that is a folder, else /tmp.
std::string folder_for_temporary_files();

}  // namespace deepgap
