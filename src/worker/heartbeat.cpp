#include "worker/heartbeat.h"

#include <deepgap/error.h>

#include <time.h>
#include <unistd.h>

namespace deepgap {
namespace {

std::chrono::nanoseconds process_cpu_time() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

Liveness::Look look_at(uint64_t progress) { return {std::chrono::steady_clock::now().time_since_epoch(), process_cpu_time(), progress}; }

}  // namespace

bool Liveness::gets_on(const Look& look) {
  const bool worked = (look.cpu - last_.cpu) * 20 >= look.now - last_.now;
  const bool finished = look.progress != last_.progress;
  last_ = look;
  if (finished) last_change_ = look.now;
  return finished || (worked && look.now - last_change_ < timeout_);
}

Heartbeat::Heartbeat(std::function<void(const Frame&)> send, Settings settings)
    : send_(std::move(send)), settings_(settings), liveness_(settings.timeout, look_at(0)) {
  thread_ = std::thread([this] { run(); });
}

Heartbeat::~Heartbeat() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Heartbeat::enter(const std::string& phase) {
  {
    const std::lock_guard lock(mutex_);
    phase_ = phase;
    ++phases_;
    done_.store(0, std::memory_order_relaxed);
  }
  // At once, not with the next beat: when the process dies, the parent can say where.
  if (phase != "idle") tell(phase, 0);
}

void Heartbeat::tell(const std::string& phase, uint64_t done) {
  try {
    send_({{{"kind", "heartbeat"}, {"phase", phase}, {"done", done}}, {}});
  } catch (const Error&) {
    ::_exit(1);  // nobody is left to hear of it
  }
}

void Heartbeat::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    wake_.wait_for(lock, settings_.period);
    if (stop_) return;
    const uint64_t done = done_.load(std::memory_order_relaxed);
    const std::string phase = phase_;
    const bool getting_on = liveness_.gets_on(look_at(done + (phases_ << 40)));
    if (!getting_on || phase == "idle") continue;
    lock.unlock();
    tell(phase, done);
    lock.lock();
  }
}

}  // namespace deepgap
