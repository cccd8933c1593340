#include "model/eval/parallel.h"

#include "base/cpu.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace deepgap {

namespace {

int asked_threads = 0;

// Starting a thread costs some ten thousand operations' time.
constexpr double operations_worth_a_thread = 200'000;

}  // namespace

void set_evaluator_threads(int threads) { asked_threads = threads; }

void parallel_for(int64_t count, double weight, const std::function<void(int64_t)>& work) {
  const double worth = std::min(static_cast<double>(count) * weight / operations_worth_a_thread, 64.0);
  const int available = asked_threads > 0 ? asked_threads : std::clamp(count_allowed_cpus().value_or(1), 1, 64);
  const int threads = static_cast<int>(std::min<int64_t>({available, count, static_cast<int64_t>(worth) + 1}));
  std::atomic<int64_t> next{0};
  std::exception_ptr error;
  std::mutex error_mutex;
  const auto loop = [&] {
    try {
      for (int64_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      const std::lock_guard lock(error_mutex);
      if (!error) error = std::current_exception();
      next = count;
    }
  };
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back(loop);
    loop();
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace deepgap
