#include "worker/first_result.h"

#include <vector>

namespace deepgap {

double first_result_ms(Target& target, Clock& clock, std::span<const uint32_t> samples, int64_t batch,
                       const std::atomic<bool>& interrupted) {
  std::vector<uint32_t> cycled;
  for (int64_t i = 0; i < batch; ++i) cycled.push_back(samples[static_cast<size_t>(i) % samples.size()]);
  std::atomic<bool> done{false};
  target.on_completion([&](std::span<const Completed> completed) {
    if (!completed.empty()) done.store(true);
    clock.notify();
  });
  const Nanoseconds begin = clock.now();
  const Query query{0, begin, cycled};
  target.submit(std::span(&query, 1));
  while (!done.load() && !interrupted.load()) clock.wait_until(never);
  if (!done.load()) target.cancel();
  const double ms = static_cast<double>(clock.now() - begin) / 1e6;
  target.on_completion({});
  target.flush();  // throws with the engine's reason when the query failed
  return ms;
}

}  // namespace deepgap
