#include "worker/end_to_end_options.h"

#include "dataset/picture_source.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {

const OptionTable<EndToEndOptions>& end_to_end_options() {
  static const OptionTable<EndToEndOptions> table = [] {
    OptionTable<EndToEndOptions> made;
    made.choice(
        "end_to_end",
        "image files in each query: off, serial (each is read, decoded and resized first), overlapped (the same while others are computed)",
        &EndToEndOptions::mode, {{"off", EndToEnd::off}, {"serial", EndToEnd::serial}, {"overlapped", EndToEnd::overlapped}});
    made.count("decode_threads", "threads that decode images", &EndToEndOptions::decode_threads, 1, 1024)
        .by_default("the CPUs that the engine's threads leave, at least 1");
    return made;
  }();
  return table;
}

void require_pictures(const Point& point, const EndToEndOptions& options, const Dataset& dataset) {
  if (!options.on() || picture_source(dataset) != nullptr) return;
  throw Error(
      ErrorKind::usage,
      fmt::format("--end-to-end begins with image files, and dataset '{}' has none: use --dataset pictures, crops, or a folder of images",
                  point.dataset));
}

int decode_threads(const Point& point, const EndToEndOptions& options, size_t cpus) {
  if (options.decode_threads > 0) return static_cast<int>(options.decode_threads);
  return std::max(1, static_cast<int>(cpus) - point.threads);
}

int64_t pipeline_slots(const Point& point, const EndToEndOptions& options, const DispatchOptions& dispatch, int threads, int64_t slots) {
  if (options.mode == EndToEnd::serial) return 1;
  const auto queries_with = [&](int64_t samples) { return (samples + point.batch - 1) / point.batch; };
  const int64_t batches = slots * static_cast<int64_t>(instance_loads(point, dispatch).size()) + 1;
  return batches * queries_with(largest_batch(point, dispatch)) + queries_with(threads);
}

}  // namespace deepgap
