#include "worker/watch_device.h"

#include "kernels/align.h"
#include "kernels/count_run.h"
#include "kernels/known_work.h"
#include "kernels/tracer.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

// A layer's time is that of its kernels where nearly all of them are known to be some layer's: with a clock around each layer a small one
// takes as long as its launch. What it then lacks are the gaps between kernels, which are nobody's.
void take_times_of_kernels(LayerProfile& profile, double known) {
  constexpr double enough = 0.98;
  const Trace& trace = *profile.trace;
  const auto same = [](const ProfiledLayer& layer, const TracedLayer& traced) { return layer.name == traced.name; };
  if (known < enough || !std::equal(profile.layers.begin(), profile.layers.end(), trace.layers.begin(), trace.layers.end(), same)) return;
  for (ProfiledLayer& layer : profile.layers) layer.ns = 0;
  for (const Kernel& kernel : trace.kernels)
    if (kernel.layer >= 0) profile.layers[static_cast<size_t>(kernel.layer)].ns += kernel.ns();
  profile.times_of_kernels = true;
}

struct Traces {
  Trace announced;  // layer after layer
  Trace plain;
  bool announces = false;  // the engine announces its layers
};

// Runs one batch with layers announced, which shows whose each kernel is, and a plain one, as it is timed, which shows what the device
// really does. The first of each is not looked at: watching makes it slow.
Traces traced(const BatchOnDevice& batch) {
  Tracer tracer;
  Traces traces;
  for (int i = 0; i < 2; ++i) {
    if (batch.before) batch.before();
    tracer.begin();
    traces.announces = batch.layers([&](const std::string& name, const std::string& op) { tracer.announce(name, op); });
    traces.announced = tracer.end();
  }
  for (int i = 0; i < 2; ++i) {
    if (batch.before) batch.before();
    tracer.begin();
    batch.plain();
    traces.plain = tracer.end();
  }
  return traces;
}

CountedRun counted(int device, const BatchOnDevice& batch, const Trace& trace) {
  CountedRun none;
  try {
    const auto known = known_work(device);
    const WorkToCount work{.plain = batch.plain,
                           .layers =
                               [&](const RangeProfiler::Mark& mark) {
                                 return batch.layers([&](const std::string& name, const std::string& /*op*/) { mark(name); });
                               },
                           .before = batch.before,
                           .traced = &trace};
    return count_run(cupti::api(), device, *known, work);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::device_lost) throw;
    none.missing = error.what();
  }
  return none;
}

}  // namespace

void watch_device(LayerProfile& profile, int device, bool count, const BatchOnDevice& batch) {
  try {
    Traces traces = traced(batch);
    const double known = assign_layers(traces.announced, traces.plain);
    profile.trace = std::move(traces.plain);
    if (traces.announces) take_times_of_kernels(profile, known);
    if (count) profile.counters = counted(device, batch, traces.announces ? traces.announced : *profile.trace);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::device_lost) throw;
    profile.trace.reset();
    profile.trace_missing = error.what();
    if (count) profile.counters.emplace().missing = error.what();
  }
}

LayerProfile taken_with_less(bool& watch, bool& count, const std::function<LayerProfile()>& take) {
  std::string while_counting, while_watching;
  for (;;) {
    try {
      LayerProfile profile = take();
      if (!while_watching.empty()) profile.trace_missing = fmt::format("while it was watched, {}", while_watching);
      if (!while_counting.empty()) profile.counters.emplace().missing = fmt::format("while it was counted, {}", while_counting);
      return profile;
    } catch (const Error& error) {
      const bool again =
          error.kind() == ErrorKind::refused || error.kind() == ErrorKind::internal || error.kind() == ErrorKind::device_lost;
      if (!watch || !again) throw;
      if (count)
        while_counting = error.what();
      else
        while_watching = error.what();
      watch = count;
      count = false;
    }
  }
}

}  // namespace deepgap
