#include "base/file.h"

#include "base/output_file.h"

#include <deepgap/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace deepgap {
namespace {

[[noreturn]] void fail(std::string_view action, const std::string& path, int error) {
  throw Error(ErrorKind::input, fmt::format("cannot {} {}: {}", action, path, std::strerror(error)));
}

FileDescriptor open_regular(const std::string& path, struct stat& info) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a pipe is refused, not waited for
  if (!file.valid()) fail("open", path, errno);
  if (::fstat(file.get(), &info) != 0) fail("read", path, errno);
  if (!S_ISREG(info.st_mode)) {
    throw Error(ErrorKind::input,
                fmt::format("cannot read {}: {}", path, S_ISDIR(info.st_mode) ? "it is a folder" : "it is not a regular file"));
  }
  return file;
}

}  // namespace

void FileDescriptor::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

MappedFile map_file(const std::string& path) {
  struct stat info {};
  const FileDescriptor file = open_regular(path, info);
  const auto size = static_cast<size_t>(info.st_size);
  if (size == 0) return {};
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file.get(), 0);
  if (address == MAP_FAILED) fail("read", path, errno);
  return {std::shared_ptr<const std::byte>(static_cast<const std::byte*>(address),
                                           [size](const std::byte* p) { ::munmap(const_cast<std::byte*>(p), size); }),
          size};
}

std::string read_text(const std::string& path, size_t limit_bytes) {
  struct stat info {};
  const FileDescriptor file = open_regular(path, info);
  std::string text;
  text.reserve(std::min(static_cast<size_t>(std::max<off_t>(info.st_size, 0)), limit_bytes));
  char buffer[65536];
  // Files in /proc and /sys give their size as 0, so the text is read without it.
  while (text.size() <= limit_bytes) {
    const ssize_t count = ::read(file.get(), buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("read", path, errno);
    if (count == 0) return text;
    text.append(buffer, static_cast<size_t>(count));
  }
  throw Error(ErrorKind::input, fmt::format("cannot read {}: it is larger than {} bytes", path, limit_bytes));
}

void write_file_atomic(const std::string& path, std::string_view content) {
  OutputFile file(path);
  file.write(content);
  file.finish();
}

void make_directories(const std::string& path) {
  if (!path.empty()) refuse_foreign_links(path);
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) fail("create folder", path, error.value());
}

std::string folder_for_temporary_files() {
  std::error_code error;
  const std::string folder = std::filesystem::temp_directory_path(error).string();
  return error ? "/tmp" : folder;
}

}  // namespace deepgap
