#include "worker/pulse.h"

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

}  // namespace

Pulse::Pulse(std::function<void(const Frame&)> send, Settings settings)
    : send_(std::move(send)), settings_(settings), last_look_(std::chrono::steady_clock::now()), last_change_(last_look_) {
  thread_ = std::thread([this] { run(); });
}

Pulse::~Pulse() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Pulse::enter(const std::string& stage) {
  {
    const std::lock_guard lock(mutex_);
    stage_ = stage;
    ++stages_;
    done_.store(0, std::memory_order_relaxed);
  }
  // At once, not with the next beat: when the process dies, the parent can say where.
  if (stage != "idle") tell(stage, 0);
}

void Pulse::tell(const std::string& stage, uint64_t done) {
  try {
    send_({{{"kind", "heartbeat"}, {"stage", stage}, {"done", done}}, {}});
  } catch (const Error&) {
    ::_exit(1);  // nobody is left to hear of it
  }
}

bool Pulse::is_getting_on(uint64_t progress) {
  const auto now = std::chrono::steady_clock::now();
  const auto cpu = process_cpu_time();
  const bool worked = (cpu - last_cpu_) * 20 >= now - last_look_;
  last_cpu_ = cpu;
  last_look_ = now;
  if (progress != last_progress_) {
    last_progress_ = progress;
    last_change_ = now;
    return true;
  }
  return worked && now - last_change_ < settings_.patience;
}

void Pulse::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    wake_.wait_for(lock, settings_.period);
    if (stop_) return;
    const uint64_t done = done_.load(std::memory_order_relaxed);
    const std::string stage = stage_;
    const bool getting_on = is_getting_on(done + (stages_ << 40));
    if (!getting_on || stage == "idle") continue;
    lock.unlock();
    tell(stage, done);
    lock.lock();
  }
}

}  // namespace deepgap
