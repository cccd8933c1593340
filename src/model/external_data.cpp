#include "base/file_kind.h"
#include "model/onnx_tensor.h"

#include <deepgap/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& location, std::string_view cause) {
  throw Error(ErrorKind::input, fmt::format("external data '{}': {}", location, cause));
}

// The real path of `location`, which has to lie below the model's real folder.
std::string resolve(const std::string& folder, const std::string& location) {
  if (folder.empty()) fail(location, "not allowed here");
  if (location.empty() || fs::path(location).is_absolute()) fail(location, "the location must be a path relative to the model");
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  if (error) fail(location, fmt::format("folder {}: {}", folder, error.message()));
  const fs::path target = fs::canonical(root / location, error);
  if (error) fail(location, error.message());
  const auto [end, unused] = std::mismatch(root.begin(), root.end(), target.begin(), target.end());
  if (end != root.end()) fail(location, "it lies outside the model's folder");
  return target.string();
}

// A file that is too short is often another one in its place.
[[noreturn]] void fail_short(const std::string& location, int descriptor, const std::string& cause) {
  std::array<std::byte, 64> first{};
  const ssize_t count = ::pread(descriptor, first.data(), first.size(), 0);
  const std::string kind = count > 0 ? other_file_kind(std::span(first).first(static_cast<size_t>(count))) : "";
  fail(location, kind.empty() ? cause : fmt::format("{}; it {}", cause, kind));
}

}  // namespace

const ExternalData::File& ExternalData::open(const std::string& location) {
  if (const auto found = files_.find(location); found != files_.end()) return found->second;
  const std::string path = resolve(folder_, location);
  // The path has no links any more; not following one keeps it so, and a pipe must not block.
  File file{FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)), 0};
  struct stat info {};
  if (!file.descriptor.valid() || ::fstat(file.descriptor.get(), &info) != 0) fail(location, std::strerror(errno));
  if (!S_ISREG(info.st_mode)) fail(location, "it is not a regular file");
  file.size = info.st_size;
  if (files_.size() >= 256) files_.clear();  // each holds a descriptor
  return files_.emplace(location, std::move(file)).first->second;
}

void ExternalData::read(const std::string& location, int64_t offset, Tensor& tensor) {
  const File& file = open(location);
  const auto bytes = static_cast<int64_t>(element_count(tensor.shape)) * static_cast<int64_t>(byte_size(tensor.type));
  if (offset < 0 || offset > file.size || bytes > file.size - offset)
    fail_short(location, file.descriptor.get(), fmt::format("{} bytes at offset {} are needed, the file has {}", bytes, offset, file.size));
  tensor = make_tensor(tensor.type, tensor.shape);
  auto* to = const_cast<std::byte*>(tensor.data.get());
  for (int64_t done = 0; done < bytes;) {
    const ssize_t count = ::pread(file.descriptor.get(), to + done, static_cast<size_t>(bytes - done), offset + done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(location, std::strerror(errno));
    if (count == 0) fail(location, "it became shorter while it was read");
    done += count;
  }
}

}  // namespace deepgap
