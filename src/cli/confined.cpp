#include "cli/confined.h"

#include "base/confine.h"
#include "base/output_file.h"
#include "base/text.h"
#include "cli/command.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <new>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

// Ready before the signal: its handler may make nothing.
std::string out_of_time_line;

void out_of_time(int) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, out_of_time_line.data(), out_of_time_line.size());
  ::_exit(exit_usage);
}

// A link leads to another folder than it stands in, also where nothing is there yet.
std::vector<std::string> folders_of(const std::vector<std::string>& outputs) {
  std::vector<std::string> folders;
  for (const std::string& output : outputs) {
    if (output.empty()) continue;
    const fs::path path = fs::absolute(output);
    std::error_code error;
    folders.push_back(path.parent_path().string());
    const fs::path real = fs::weakly_canonical(path, error);
    if (!error) folders.push_back(real.parent_path().string());
    folders.push_back(fs::absolute(output_target(output).path).parent_path().string());
  }
  return folders;
}

void limit_time(const ReaderLimits& limits) {
  out_of_time_line =
      fmt::format("deepgap: {}: reading it takes more than {} s of CPU time, which is the limit; the file may be malicious\n",
                  limits.subject, limits.cpu_seconds);
  std::signal(SIGXCPU, out_of_time);
  rlimit now{};
  if (::getrlimit(RLIMIT_CPU, &now) != 0) return;
  now.rlim_cur = std::min<rlim_t>(now.rlim_cur, limits.cpu_seconds);
  ::setrlimit(RLIMIT_CPU, &now);
}

}  // namespace

int work_confined(const ReaderLimits& limits, const std::function<int()>& work) {
  limit_time(limits);
  confine({.data_bytes = limits.memory_bytes,
           .file_bytes = limits.file_bytes,
           .descriptors = reader_descriptors + 8 * limits.outputs.size(),  // a Store has several files
           .writable = folders_of(limits.outputs)});
  try {
    return work();
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::input, fmt::format("{}: it needs more memory than the {} that may be used", limits.subject,
                                              format_bytes(static_cast<double>(limits.memory_bytes))));
  }
}

ReaderLimits limits_of_stores(const std::vector<std::string>& stores, const std::string& output) {
  uint64_t bytes = 0;
  for (const std::string& store : stores) {
    std::error_code error;
    const auto size = fs::file_size(store, error);
    if (!error) bytes += size;
  }
  ReaderLimits limits{.subject = join(stores, ", ")};
  limits.memory_bytes += 4 * bytes;
  limits.cpu_seconds = 600 + bytes / 100'000;  // a million Records are 1.3 GB, and take about a minute
  limits.file_bytes = (uint64_t{16} << 30) + 4 * bytes;
  limits.outputs = stores;
  limits.outputs.push_back(output);
  // A copy of a Store is sorted in a file, which shall lie beside it.
  if (!output.empty()) ::setenv("SQLITE_TMPDIR", fs::absolute(output).parent_path().c_str(), 0);
  return limits;
}

}  // namespace deepgap
