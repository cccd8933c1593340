#include "base/output_file.h"

#include "base/own_file.h"
#include "base/text.h"
#include "base/unfinished_file.h"

#include <deepgap/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

constexpr size_t kept_bytes = 65536;
constexpr int most_links = 40;  // as the kernel's

[[noreturn]] void fail_to_write(const std::string& path, int error) {
  throw Error(ErrorKind::input, fmt::format("cannot write {}: {}", path, std::strerror(error)));
}

// The N of /proc/self/fd/N, by whatever name that folder goes; -1: it is none.
int own_descriptor(const fs::path& path) {
  std::error_code error;
  const fs::path descriptors = fs::canonical("/proc/self/fd", error);
  if (error || fs::canonical(fs::absolute(path).parent_path(), error) != descriptors || error) return -1;
  return static_cast<int>(parse_int(path.filename().string()).value_or(-1));
}

// A link in a folder where anybody may put one but not take away another's (/tmp), which neither this user made nor the folder's owner.
bool is_foreign_link(const fs::path& link) {
  struct stat own {
  }, folder{};
  if (::lstat(link.c_str(), &own) != 0 || !S_ISLNK(own.st_mode) || own.st_uid == ::geteuid()) return false;
  const fs::path parent = link.has_parent_path() ? link.parent_path() : fs::path(".");
  if (::stat(parent.c_str(), &folder) != 0) return false;
  return (folder.st_mode & S_ISVTX) != 0 && (folder.st_mode & S_IWOTH) != 0 && folder.st_uid != own.st_uid;
}

[[noreturn]] void refuse_link(const std::string& path, const fs::path& link) {
  throw Error(ErrorKind::input, fmt::format("cannot open {}: {} is a link that another user put into a shared folder; name another file",
                                            path, link.string()));
}

// The folders that `path` leads through may be links as well, and theirs in turn.
void refuse_foreign_folders(const std::string& path) {
  std::error_code error;
  std::vector<fs::path> left;  // the next component is the last
  const auto push = [&](const fs::path& more) {
    const std::vector<fs::path> parts(more.begin(), more.end());
    left.insert(left.end(), parts.rbegin(), parts.rend());
  };
  push(fs::path(path).parent_path());
  fs::path reached;
  for (int links = 0; !left.empty() && links <= most_links;) {
    const fs::path next = reached / left.back();  // an absolute one begins anew
    left.pop_back();
    if (!fs::is_symlink(next, error)) {
      reached = next;
      continue;
    }
    if (is_foreign_link(next)) refuse_link(path, next);
    push(fs::read_symlink(next, error));
    ++links;
  }
}

// Returns where the links end that `path` leads through; a name of a descriptor of this process is an end.
fs::path end_of_links(const std::string& path) {
  std::error_code error;
  fs::path end = path;
  refuse_foreign_folders(path);
  for (int i = 0; own_descriptor(end) < 0 && fs::is_symlink(end, error); ++i) {
    if (i == most_links) fail_to_write(path, ELOOP);
    if (is_foreign_link(end)) refuse_link(path, end);
    end = end.parent_path() / fs::read_symlink(end, error);  // an absolute one stays what it is
    if (error) fail_to_write(path, error.value());
    refuse_foreign_folders(end);
  }
  return end;
}

}  // namespace

void refuse_foreign_links(const std::string& path) { end_of_links(path); }

OutputTarget output_target(const std::string& path) {
  struct stat info {};
  const fs::path end = end_of_links(path);
  const bool is_there = ::stat(path.c_str(), &info) == 0;
  const int descriptor = own_descriptor(end);
  // Another process's descriptor is a link whose text is no path.
  if (descriptor >= 0 || (is_there && !S_ISREG(info.st_mode))) return {path, descriptor, true};
  return {end.string(), -1, false};
}

OutputFile::OutputFile(const std::string& path, Links links) : path_(path) {
  const OutputTarget target = links == Links::followed ? output_target(path) : OutputTarget{path};
  if (target.descriptor >= 0) {
    std::fflush(stdout);                                                     // what was printed before stands before it
    file_ = FileDescriptor(::fcntl(target.descriptor, F_DUPFD_CLOEXEC, 0));  // a socket cannot be opened by its name
  } else if (target.as_it_is) {
    file_ = FileDescriptor(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  } else {
    target_ = target.path;
    file_ = make_unfinished_file(target_, temporary_);
  }
  if (!file_.valid()) {
    const int error = errno;
    temporary_.clear();
    fail(error);
  }
}

void replace_file(const std::string& path, std::string_view content) {
  OutputFile file(path, OutputFile::Links::replaced);
  file.write(content);
  file.finish();
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::write(std::string_view text) {
  if (kept_.size() + text.size() < kept_bytes) {
    kept_ += text;
    return;
  }
  write_through(kept_);
  kept_.clear();
  write_through(text);
}

void OutputFile::finish() {
  write_through(kept_);
  kept_.clear();
  if (::close(file_.release()) != 0) fail(errno);  // a network file system reports a full disk here
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  temporary_.clear();
}

void OutputFile::write_through(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file_.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void OutputFile::fail(int error) const { fail_to_write(path_, error); }

}  // namespace deepgap
