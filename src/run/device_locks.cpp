#include "run/device_locks.h"

#include "analysis/words.h"
#include "base/text.h"
#include "base/words.h"
#include "record/record_json.h"

#include <deepgap/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace deepgap {
namespace {

constexpr const char* cpu_file = "cpu";
constexpr std::string_view gpu_prefix = "gpu-", owner_prefix = "holder-";

[[noreturn]] void fail(const std::string& path, std::string_view why) {
  throw Error(ErrorKind::input, fmt::format("cannot lock a device with {}: {}", path, why));
}

// All users write here, as in /tmp; what is no plain folder somebody put there.
void make_folder(const std::string& folder) {
  constexpr mode_t for_all = S_ISVTX | 0777;
  if (::mkdir(folder.c_str(), for_all) == 0) ::chmod(folder.c_str(), for_all);  // whatever the umask says
  struct stat found {};
  if (::lstat(folder.c_str(), &found) != 0) fail(folder, std::strerror(errno));
  if (!S_ISDIR(found.st_mode)) fail(folder, "it is not a folder");
}

// One that is another user's too: no link, and no other name of some file. Without O_CREAT at first: kernels refuse that for files of
// others in a folder of all.
FileDescriptor open_shared(const std::string& path) {
  constexpr int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  FileDescriptor file(::open(path.c_str(), flags));
  if (!file.valid() && errno == ENOENT) {
    file = FileDescriptor(::open(path.c_str(), flags | O_CREAT | O_EXCL, 0666));
    if (file.valid()) ::fchmod(file.get(), 0666);
    if (!file.valid() && errno == EEXIST) file = FileDescriptor(::open(path.c_str(), flags));
  }
  if (!file.valid()) fail(path, std::strerror(errno));
  struct stat found {};
  if (::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode) || found.st_nlink > 1) fail(path, "it is not a regular file of its own");
  return file;
}

struct flock range(short type, int64_t first, int64_t count) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = first;
  lock.l_len = count;
  return lock;
}

std::string own_command() {
  std::string text;
  try {
    text = read_text("/proc/self/cmdline");
  } catch (const Error&) {
    return "deepgap";
  }
  std::vector<std::string> words = split(text, '\0');
  if (!words.empty() && words.back().empty()) words.pop_back();
  if (!words.empty()) words.front() = std::filesystem::path(words.front()).filename().string();
  return one_line(join(words, " "));
}

std::string owner_file(const std::string& folder, int64_t pid) { return fmt::format("{}/{}{}", folder, owner_prefix, pid); }

// Reads the start time, command and Store, a line each. Others wrote the file: malformed values are ignored.
void read_owner(const std::string& folder, DeviceLockOwner& owner) {
  const FileDescriptor file(::open(owner_file(folder, owner.pid).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  std::array<char, 8192> buffer{};
  const ssize_t count = file.valid() ? ::read(file.get(), buffer.data(), buffer.size()) : 0;
  const std::vector<std::string> lines = split(std::string_view(buffer.data(), static_cast<size_t>(std::max<ssize_t>(count, 0))), '\n');
  const auto since = parse_int(lines.front());
  if (lines.size() < 3 || !since || *since < 0) return;
  owner.since_unix_ns = *since;
  owner.command = one_line(lines[1]);
  owner.store = one_line(lines[2]);
}

std::string cpus_text(int64_t first, int64_t count) {
  return count == 1 ? fmt::format("CPU {}", first) : fmt::format("CPUs {} to {}", first, first + count - 1);
}

std::string device_text(const std::string& file, const struct flock& lock) {
  return file == cpu_file ? cpus_text(lock.l_start, std::max<int64_t>(lock.l_len, 1)) : file.substr(gpu_prefix.size());
}

DeviceLockOwner owner_of(const std::string& folder, const std::string& device, const struct flock& lock) {
  DeviceLockOwner owner{.device = device, .pid = lock.l_pid, .command = {}, .store = {}};
  if (owner.pid > 0) read_owner(folder, owner);
  return owner;
}

}  // namespace

std::string lock_folder() {
  const char* named = std::getenv("DEEPGAP_LOCKS");
  if (named == nullptr || *named == '\0') return "/tmp/deepgap-locks";
  return std::string_view(named) == "off" ? "" : named;
}

std::vector<LockedDevice> locked_devices(const std::set<DeviceId>& devices, const LockSettings& settings) {
  std::vector<LockedDevice> locked;
  for (const DeviceId& device : devices) {
    if (is_remote(device)) continue;
    const std::string name = placement_name({1, {device}});
    if (device.kind == "cpu") {
      locked.push_back({name, cpu_file, settings.cpus});
    } else {
      const std::string uuid = settings.gpu_uuid ? settings.gpu_uuid(device.index) : "";
      const bool plain = !uuid.empty() && uuid.find_first_of("/\n") == std::string::npos && uuid.size() < 100;
      locked.push_back({name, std::string(gpu_prefix) + (plain ? uuid : name), {0}});
    }
  }
  return locked;
}

std::string owner_words(const DeviceLockOwner& owner) {
  if (owner.pid <= 0) return "a process of another container";
  if (owner.since_unix_ns == 0) return fmt::format("process {}", owner.pid);
  return fmt::format("process {} since {}: {}{}", owner.pid, format_time(owner.since_unix_ns), owner.command,
                     owner.store.empty() ? "" : ", into " + owner.store);
}

DeviceLocks::DeviceLocks(std::string folder, std::vector<LockedDevice> devices, const std::string& store)
    : folder_(std::move(folder)), store_(store), devices_(std::move(devices)) {
  if (devices_.empty()) return;
  make_folder(folder_);
  for (const LockedDevice& device : devices_) {
    if (files_.count(device.file) == 0) files_.emplace(device.file, open_shared(folder_ + "/" + device.file));
  }
}

DeviceLocks::~DeviceLocks() {
  if (names_owner_) ::unlink(owner_file(folder_, ::getpid()).c_str());
}

// Writes the file for people; the lock counts.
void DeviceLocks::tell() {
  if (devices_.empty()) return;
  const FileDescriptor file = open_shared(owner_file(folder_, ::getpid()));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::string text = fmt::format("{}\n{}\n{}\n", std::chrono::duration_cast<std::chrono::nanoseconds>(now).count(), own_command(),
                                       store_.empty() ? "" : one_line(std::filesystem::absolute(store_).string()));
  names_owner_ = ::ftruncate(file.get(), 0) == 0 && ::write(file.get(), text.data(), text.size()) > 0;
}

std::optional<DeviceLockOwner> DeviceLocks::take_one(const LockedDevice& device) {
  const int file = files_.at(device.file).get();
  for (const int unit : device.units) {
    struct flock lock = range(F_WRLCK, unit, 1);
    if (::fcntl(file, F_SETLK, &lock) == 0) continue;
    if (errno != EACCES && errno != EAGAIN) fail(folder_ + "/" + device.file, std::strerror(errno));
    lock = range(F_WRLCK, unit, 1);
    // The lock may have been released between the two calls: then it has no owner, and the next try will do.
    if (::fcntl(file, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) lock.l_pid = 0;
    return owner_of(folder_, device.name, lock);
  }
  return std::nullopt;
}

void DeviceLocks::release() {
  for (auto& [name, file] : files_) {
    struct flock all = range(F_UNLCK, 0, 0);
    ::fcntl(file.get(), F_SETLK, &all);
  }
}

std::optional<DeviceLockOwner> DeviceLocks::take() {
  for (const LockedDevice& device : devices_) {
    auto owner = take_one(device);
    if (!owner) continue;
    release();  // who holds some and waits for others may wait for one who does the same
    return owner;
  }
  tell();
  return std::nullopt;
}

std::vector<std::string> DeviceLocks::take_what_is_free() {
  std::vector<std::string> busy;
  for (const LockedDevice& device : devices_) {
    if (take_one(device)) busy.push_back(device.name);
  }
  tell();
  return busy;
}

std::vector<DeviceLockOwner> device_lock_owners(const std::string& folder) {
  std::vector<DeviceLockOwner> owners;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    if (name != cpu_file && !name.starts_with(gpu_prefix)) continue;
    const FileDescriptor file(::open(entry.path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    for (int64_t next = 0; file.valid();) {
      struct flock lock = range(F_WRLCK, next, 0);
      if (::fcntl(file.get(), F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) break;
      owners.push_back(owner_of(folder, device_text(name, lock), lock));
      if (lock.l_len == 0) break;
      next = lock.l_start + lock.l_len;
    }
  }
  return owners;
}

}  // namespace deepgap
