// What is wrong with a node, for tests: preloaded into a task, it makes the node's clock go ahead (FAULT_CLOCK_AHEAD_S) or the shared disk
// slow (FAULT_SLOW_DISK_S: each time that a file below a folder `parts` is brought to the disk, so much time has passed). Nobody waits for
// it.
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

long seconds(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? 0 : std::atol(value);
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

std::atomic<long> passed_s{0};  // that nobody waited for

bool is_handed_in(int descriptor) {
  char link[64], path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = ::readlink(link, path, sizeof path - 1);
  path[length < 0 ? 0 : length] = 0;
  return std::strstr(path, "/parts/") != nullptr;
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) {
  static const auto real = next<int (*)(clockid_t, timespec*)>("clock_gettime");
  const int result = real(clock, time);
  if (clock == CLOCK_REALTIME) time->tv_sec += seconds("FAULT_CLOCK_AHEAD_S");
  if (clock == CLOCK_MONOTONIC) time->tv_sec += passed_s;
  return result;
}

extern "C" int fsync(int descriptor) {
  static const auto real = next<int (*)(int)>("fsync");
  if (is_handed_in(descriptor)) passed_s += seconds("FAULT_SLOW_DISK_S");
  return real(descriptor);
}
