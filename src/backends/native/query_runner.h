// Runs queries, one after the other: each stream of a Session has a runner of its own.
#pragma once

#include "backends/native/batch_io.h"
#include "backends/native/native_options.h"
#include "engine/cpu/team.h"

#include <deepgap/backend.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace deepgap {

// One thread at a time; several runners at once, with different slots.
class QueryRunner {
 public:
  virtual ~QueryRunner() = default;
  virtual void prepare(int slot, std::span<const uint32_t> samples) = 0;  // inputs gathered
  virtual void compute(int slot, std::span<const uint32_t> samples) = 0;  // outputs written
  // Times the layers of a run in slot 0, which must be free, at the largest batch.
  virtual std::vector<LayerTiming> layer_timings(const std::function<Nanoseconds()>& now) = 0;
  // For a thread that runs nothing else.
  virtual TeamScope team() const = 0;
};

struct QueryRunners {
  std::vector<std::unique_ptr<QueryRunner>> each;
  std::optional<size_t> bytes;  // bytes of all of them together, taken at load; nullopt: not known
  PrecisionShares shares;       // shares of the multiply-accumulates
};

// Threads of each of `streams` streams: equal shares of `threads`, at least one each.
std::vector<int> threads_by_stream(int threads, int streams);

// Compiled Networks that share their weights, each on CPUs of its own where pinning is asked for and there are enough. The Model and
// `io` outlive them.
QueryRunners make_network_runners(const Model& model, const LoadOptions& options, const NativeOptions& native, BatchIo& io);
// The evaluator, one operator after the other: the FP32 reference, and the way for networks whose shapes depend on data.
QueryRunners make_evaluator_runners(const Model& model, int streams, BatchIo& io);

}  // namespace deepgap
