#include "worker/end_to_end_options.h"

#include "dataset/picture_source.h"
#include "record/record_json.h"
#include "scenario/option_values.h"
#include "worker/mlperf_run.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {

std::vector<OptionInfo> end_to_end_option_infos() {
  return {{"end_to_end",
           "off; serial: queries begin with image files that are read, decoded and resized first; overlapped: the same while others are "
           "computed",
           "off"},
          {"decode_threads", "threads that decode images; by default the CPUs that the engine's threads leave, at least one", ""}};
}

EndToEndOptions end_to_end_options(const std::map<std::string, std::string>& options) {
  EndToEndOptions result;
  const std::string mode = choice_option(options, "end_to_end", {"off", "serial", "overlapped"});
  if (mode == "serial") result.mode = EndToEnd::serial;
  if (mode == "overlapped") result.mode = EndToEnd::overlapped;
  result.decode_threads = whole_option(options, "decode_threads", 1, 1024, 0);
  if (result.decode_threads > 0 && !options.contains("end_to_end")) {
    throw Error(ErrorKind::usage, "decode_threads applies to end-to-end queries: add --end-to-end serial or overlapped, or leave it out");
  }
  return result;
}

void require_end_to_end(const Point& point, const EndToEndOptions& options) {
  if (!options.on()) return;
  if (is_mlperf(point)) throw Error(ErrorKind::usage, "an MLPerf run measures the network alone: leave out --end-to-end");
  if (point.placement.processes > 1) throw Error(ErrorKind::usage, "--end-to-end needs one process: leave out --processes");
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

int64_t lanes(const Point& point, const EndToEndOptions& options, const DispatchOptions& dispatch, int threads, int64_t slots) {
  if (options.mode == EndToEnd::serial) return 1;
  const auto queries_with = [&](int64_t samples) { return (samples + point.batch - 1) / point.batch; };
  const int64_t batches = slots * static_cast<int64_t>(instance_loads(point, dispatch).size()) + 1;
  return batches * queries_with(largest_batch(point, dispatch)) + queries_with(threads);
}

}  // namespace deepgap
