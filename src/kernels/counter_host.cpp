#include "kernels/counter_host.h"

#include "kernels/profiler_params.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {
namespace {

using namespace cupti;

std::vector<const char*> pointers(const std::vector<std::string>& names) {
  std::vector<const char*> all;
  for (const std::string& name : names) all.push_back(name.c_str());
  return all;
}

}  // namespace

void require_range_profiler(const Api& api) {
#define DEEPGAP_CUPTI_LACKS(name, parameters) \
  if (api.name == nullptr) throw Error(ErrorKind::refused, fmt::format("{} has no {}: that of CUDA 12.6 or later counts", api.path, #name));
  DEEPGAP_CUPTI_PROFILER_FUNCTIONS(DEEPGAP_CUPTI_LACKS)
#undef DEEPGAP_CUPTI_LACKS
}

CounterHost::CounterHost(const Api& api, const std::string& chip, const std::vector<uint8_t>& available)
    : api_(api), chip_(chip), available_(available) {
  require_range_profiler(api);
  HostInitialize host;
  host.chip = chip_.c_str();
  host.availability = available_.empty() ? nullptr : available_.data();
  check(api_, api_.cuptiProfilerHostInitialize(&host), fmt::format("preparing to count on a {}", chip));
  host_ = host.host;
}

CounterHost::~CounterHost() {
  HostHandle done;
  done.host = host_;
  static_cast<void>(api_.cuptiProfilerHostDeinitialize(&done));
}

CounterSetup CounterHost::setup(const std::vector<std::string>& metrics) {
  CounterSetup made{.metrics = metrics};
  std::vector<const char*> names = pointers(made.metrics);
  AddMetrics add;
  add.host = host_;
  add.names = names.data();
  add.count = names.size();
  check(api_, api_.cuptiProfilerHostConfigAddMetrics(&add), fmt::format("asking a {} for {} counters", chip_, metrics.size()));
  ConfigImageSize size;
  size.host = host_;
  check(api_, api_.cuptiProfilerHostGetConfigImageSize(&size), "setting counters up");
  made.image.resize(size.bytes);
  ConfigImage image;
  image.host = host_;
  image.bytes = made.image.size();
  image.image = made.image.data();
  check(api_, api_.cuptiProfilerHostGetConfigImage(&image), "setting counters up");
  PassCount passes;
  passes.bytes = made.image.size();
  passes.image = made.image.data();
  check(api_, api_.cuptiProfilerHostGetNumOfPasses(&passes), "asking how often the work is to be done");
  made.passes = passes.passes;
  return made;
}

std::map<std::string, double> CounterHost::values(const CounterSetup& setup, const std::vector<uint8_t>& data, size_t range) const {
  std::vector<const char*> names = pointers(setup.metrics);
  std::vector<double> values(names.size());
  Evaluate evaluate;
  evaluate.host = host_;
  evaluate.data = data.data();
  evaluate.data_bytes = data.size();
  evaluate.range = range;
  evaluate.names = names.data();
  evaluate.count = names.size();
  evaluate.values = values.data();
  check(api_, api_.cuptiProfilerHostEvaluateToGpuValues(&evaluate), "reading what was counted");
  std::map<std::string, double> result;
  // Percent as fractions, as everywhere here.
  const auto factor = [](const std::string& metric) { return metric.find(".pct") == std::string::npos ? 1.0 : 0.01; };
  for (size_t i = 0; i < values.size(); ++i) result[setup.metrics[i]] = factor(setup.metrics[i]) * values[i];
  return result;
}

}  // namespace deepgap
