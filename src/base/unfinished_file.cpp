#include "base/unfinished_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <random>
#include <string_view>
#include <vector>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view between = ".unfinished-";
constexpr size_t digits = 8;

bool is_locked_now(int file) { return ::flock(file, LOCK_EX | LOCK_NB) == 0; }

// Whoever made it holds the lock until he ends, however that is.
void remove_if_left(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info {};
  const bool is_own = file.valid() && ::fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == ::geteuid();
  if (!is_own || !is_locked_now(file.get())) return;
  for (const char* suffix : {"-wal", "-shm", "-journal", ""}) ::unlink((path + suffix).c_str());  // SQLite's beside it
}

void remove_left_ones(const fs::path& target) {
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  const std::string begin = target.filename().string() + std::string(between);
  std::vector<std::string> left;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool is_ours = name.starts_with(begin) && name.size() == begin.size() + digits &&
                         name.find_first_not_of("0123456789abcdef", begin.size()) == std::string::npos;
    if (is_ours) left.push_back(entry->path().string());
  }
  for (const std::string& path : left) remove_if_left(path);
}

}  // namespace

// Draws the name by chance, since nodes that share a folder have equal process ids.
FileDescriptor make_unfinished_file(const std::string& target, std::string& path) {
  remove_left_ones(target);
  std::random_device random;
  for (;;) {
    path = fmt::format("{}{}{:08x}", target, between, random());
    FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!file.valid() && errno == EEXIST) continue;
    if (!file.valid()) return file;
    const bool has_locks = ::flock(file.get(), LOCK_EX) == 0;  // waits where another one looks whether it is left over
    struct stat info {};
    if (has_locks && ::fstat(file.get(), &info) == 0 && info.st_nlink == 0) continue;  // and took it for that
    return file;
  }
}

}  // namespace deepgap
