#include "fleet/hand_in.h"

#include "base/file.h"
#include "store/merge_stores.h"

#include <deepgap/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

namespace deepgap {
namespace {

using Steady = std::chrono::steady_clock;

double seconds_since(Steady::time_point begin) { return std::chrono::duration<double>(Steady::now() - begin).count(); }

int64_t unix_now() { return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count(); }

[[noreturn]] void fail(const std::string& path, int error) {
  throw Error(ErrorKind::input, fmt::format("cannot write {}: {}", path, std::strerror(error)));
}

void copy_bytes(int from, int to, const std::string& path) {
  std::vector<char> buffer(size_t{1} << 20);
  for (;;) {
    const ssize_t count = ::read(from, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path, errno);
    if (count == 0) return;
    for (ssize_t done = 0; done < count;) {
      const ssize_t written = ::write(to, buffer.data() + done, static_cast<size_t>(count - done));
      if (written < 0 && errno != EINTR) fail(path, errno);
      done += std::max<ssize_t>(written, 0);
    }
  }
}

// Returns how far this node's clock is ahead of the disk's, by the time that the disk gave a file just written.
double clock_ahead(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return 0;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count() - static_cast<double>(info.st_mtim.tv_sec) -
         static_cast<double>(info.st_mtim.tv_nsec) / 1e9;
}

}  // namespace

void copy_durably(const std::string& from, const std::string& to) {
  const FileDescriptor source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!source.valid()) throw Error(ErrorKind::input, fmt::format("cannot read {}: {}", from, std::strerror(errno)));
  const std::string unfinished = to + ".unfinished";
  try {
    FileDescriptor target(::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!target.valid()) fail(to, errno);
    copy_bytes(source.get(), target.get(), to);
    if (::fsync(target.get()) != 0) fail(to, errno);
    target.close();
    if (::rename(unfinished.c_str(), to.c_str()) != 0) fail(to, errno);
  } catch (...) {
    ::unlink(unfinished.c_str());
    throw;
  }
}

HandIn::HandIn(const Fleet& fleet, Attempt& attempt, std::string work, std::string store)
    : fleet_(fleet), attempt_(attempt), work_(std::move(work)), store_(std::move(store)) {}

void HandIn::tell() {
  attempt_.reported_unix = unix_now();
  try {
    write_attempt(fleet_, attempt_);
  } catch (const Error& error) {
    failure_ = error.what();
  }
}

void HandIn::timed(const std::string& from, const std::string& name) {
  const auto begin = Steady::now();
  const std::string target = fleet_.parts_of(attempt_.task) + "/" + name;
  copy_durably(from, target);
  attempt_.slowest_hand_in_s = std::max(attempt_.slowest_hand_in_s, seconds_since(begin));
  attempt_.clock_ahead_s = clock_ahead(target);
}

void HandIn::now() {
  last_ = Steady::now();
  const std::string part = work_ + "/part.db";
  const auto report = merge_stores({{.path = store_, .after_row = last_row_}}, part, {.once = Once::record, .replace = true});
  if (report && report->written > 0) {
    timed(part, fmt::format("part-{}-{:06}.db", attempt_.id, number_ + 1));
    ++number_;
    last_row_ = report->last_row;
  }
  failure_.clear();
  tell();
}

void HandIn::in_time() {
  if (seconds_since(last_) < fleet_.hand_in_s) return;
  try {
    now();
  } catch (const Error& error) {
    failure_ = error.what();
    last_ = Steady::now();
  }
}

void HandIn::whole() {
  const std::vector<std::string> parts = parts_of_task(fleet_, attempt_.task);
  std::vector<MergeInput> inputs;
  for (const std::string& part : parts) inputs.push_back({part});
  std::error_code error;
  if (std::filesystem::exists(store_, error)) inputs.push_back({store_});
  std::vector<std::string> unreadable;
  MergeSettings settings{.once = Once::scope, .replace = true};
  settings.unreadable = [&](const MergeInput& input, const std::string&) { unreadable.push_back(input.path); };
  const std::string file = work_ + "/whole.db";
  merge_stores(inputs, file, settings);
  const std::string name = fmt::format("whole-{}.db", attempt_.id);
  timed(file, name);
  attempt_.state = Attempt::State::done;
  attempt_.reported_unix = unix_now();
  write_attempt(fleet_, attempt_);
  for (const std::string& part : parts) {
    const bool is_in_it = std::find(unreadable.begin(), unreadable.end(), part) == unreadable.end();
    if (is_in_it && !part.ends_with(name)) ::unlink(part.c_str());
  }
}

}  // namespace deepgap
