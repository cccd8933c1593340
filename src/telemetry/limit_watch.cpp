#include "telemetry/limit_watch.h"

#include <algorithm>
#include <chrono>

namespace deepgap {

bool LimitWatch::knows_limits() const {
  return !gpus_.empty() && std::all_of(gpus_.begin(), gpus_.end(), [](const GpuReader& read) { return read().power_limit_w > 0; });
}

void LimitWatch::read() {
  const Nanoseconds now = clock_.now();  // before: at the limit later than that is below it by then
  const bool reached = std::any_of(gpus_.begin(), gpus_.end(), [](const GpuReader& read) { return is_at_power_limit(read()); });
  const std::lock_guard lock(mutex_);
  seen_.reached = seen_.reached || reached;
  if (!seen_.reached) seen_.below_until = now;
}

void LimitWatch::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) {
    while (!stop.stop_requested() && !seen().reached) {
      read();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
}

LimitWatch::Seen LimitWatch::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

}  // namespace deepgap
