#include "telemetry/reading_threads.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <mutex>
#include <set>

namespace deepgap {
namespace {

std::mutex mutex;
std::set<int>& threads() {
  static std::set<int> all;
  return all;
}

}  // namespace

ReadingThread::ReadingThread() : id_(static_cast<int>(::syscall(SYS_gettid))) {
  const std::lock_guard lock(mutex);
  threads().insert(id_);
}

ReadingThread::~ReadingThread() {
  const std::lock_guard lock(mutex);
  threads().erase(id_);
}

bool is_reading_thread(int id) {
  const std::lock_guard lock(mutex);
  return threads().contains(id);
}

}  // namespace deepgap
