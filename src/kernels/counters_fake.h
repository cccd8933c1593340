// Fakes of CUPTI's host side and range profiler, for tests: they define what a kernel counts, and how often the work is wanted.
//
//     FakeDriver driver;
//     FakeCounters fake(driver);
//     RangeProfiler profiler(fake.table(), 0);
//     profiler.count(metrics, ..., [&](auto& mark) { mark("a"); fake.kernel({{"dram__bytes_read.sum", 8}}); });
//
// Like the real one, it counts nothing of a range that ends before the device was waited for, and returns ranges in an order of its own.
// Only one may exist at a time.
#pragma once

#include "cuda/fake_driver.h"
#include "kernels/cupti_api.h"
#include "kernels/profiler_params.h"

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace deepgap::cupti {

class FakeCounters {
 public:
  using Values = std::map<std::string, double>;

  std::map<std::string, Result> fails;  // by function
  size_t passes = 3;
  std::string chip = "GH100";
  std::vector<std::string> chip_has;         // base names of metrics
  std::vector<std::pair<int, int>> refused;  // range, replay: ways that this CUPTI does not offer
  std::vector<std::string> configured;       // metrics of the last setup
  int enabled = 0, started = 0, runs = 0;    // as they stand; passes over all
  std::string deadly;                        // a function that ends the process
  bool blind = false;                        // counts 0 and says nothing
  int range = 0, replay = 0;                 // values of the last setup

  explicit FakeCounters(const cuda::FakeDriver& driver) : driver_(driver) { current() = this; }
  ~FakeCounters() { current() = nullptr; }
  FakeCounters(const FakeCounters&) = delete;
  FakeCounters& operator=(const FakeCounters&) = delete;

  // The code under test launches a kernel.
  void kernel(const Values& counts) {
    if (started == 0) return;
    if (range == range_of_kernel) {
      ranges_.push_back({std::to_string(ranges_.size()), counts});
      return;
    }
    if (!open_) return;
    pending_ = waits();
    for (const auto& [name, value] : counts) ranges_.back().values[name] += value;
    has_work_ = true;
  }

  const Api& table() {
    table_.path = "libplayed.so";
    table_.cuptiGetResultString = [](Result, const char** text) { return *text = "CUPTI_ERROR_SCRIPTED", 0; };
#define DEEPGAP_FAKE(name, Params, body)                                      \
  table_.name = [](void* given) -> Result {                                   \
    FakeCounters& fake = *current();                                          \
    if (fake.deadly == #name) std::abort();                                   \
    if (const Result failed = fake.result(#name); failed != 0) return failed; \
    [[maybe_unused]] auto& p = *static_cast<Params*>(given);                  \
    body;                                                                     \
    return 0;                                                                 \
  };
    DEEPGAP_FAKE(cuptiProfilerHostInitialize, HostInitialize, p.host = &fake)
    DEEPGAP_FAKE(cuptiProfilerHostDeinitialize, HostHandle, )
    DEEPGAP_FAKE(cuptiProfilerHostGetSupportedChips, SupportedChips, p.count = 0)
    DEEPGAP_FAKE(cuptiProfilerHostGetBaseMetrics, BaseMetrics, fake.list(p))
    DEEPGAP_FAKE(cuptiProfilerHostConfigAddMetrics, AddMetrics, fake.configured.assign(p.names, p.names + p.count))
    DEEPGAP_FAKE(cuptiProfilerHostGetConfigImageSize, ConfigImageSize, p.bytes = 16)
    DEEPGAP_FAKE(cuptiProfilerHostGetConfigImage, ConfigImage, p.image[0] = 1)
    DEEPGAP_FAKE(cuptiProfilerHostGetNumOfPasses, PassCount, p.passes = fake.passes)
    DEEPGAP_FAKE(cuptiProfilerHostEvaluateToGpuValues, Evaluate, fake.evaluate(p))
    DEEPGAP_FAKE(cuptiProfilerInitialize, ProfilerStart, )
    DEEPGAP_FAKE(cuptiProfilerDeInitialize, ProfilerStart, )
    DEEPGAP_FAKE(cuptiDeviceGetChipName, ChipName, p.name = fake.chip.c_str())
    DEEPGAP_FAKE(cuptiProfilerGetCounterAvailability, CounterAvailability, p.bytes = 8)
    DEEPGAP_FAKE(cuptiRangeProfilerEnable, RangeEnable, p.profiler = &fake; fake.enabled++)
    DEEPGAP_FAKE(cuptiRangeProfilerDisable, RangeHandle, fake.enabled--)
    DEEPGAP_FAKE(cuptiRangeProfilerSetConfig, RangeConfig, return fake.configure(p))
    DEEPGAP_FAKE(cuptiRangeProfilerStart, RangeHandle, fake.started++; fake.ranges_.clear())
    DEEPGAP_FAKE(cuptiRangeProfilerStop, RangeStop, fake.started--; fake.runs++; p.is_all = ++fake.pass_ >= fake.passes ? 1 : 0)
    DEEPGAP_FAKE(cuptiRangeProfilerPushRange, RangePush, fake.open_ = true; fake.has_work_ = false; fake.ranges_.push_back({p.name, {}}))
    DEEPGAP_FAKE(cuptiRangeProfilerPopRange, RangeHandle, fake.close())
    DEEPGAP_FAKE(cuptiRangeProfilerDecodeData, RangeDecode, p.dropped = fake.dropped())
    DEEPGAP_FAKE(cuptiRangeProfilerGetCounterDataSize, CounterDataSize, p.bytes = 64)
    DEEPGAP_FAKE(cuptiRangeProfilerCounterDataImageInitialize, CounterDataStart, p.data[0] = 1)
    DEEPGAP_FAKE(cuptiRangeProfilerGetCounterDataInfo, CounterDataInfo, p.ranges = fake.ranges_.size())
    DEEPGAP_FAKE(cuptiRangeProfilerCounterDataGetRangeInfo, RangeInfo, p.name = fake.at(p.range).name.c_str())
#undef DEEPGAP_FAKE
    return table_;
  }

 private:
  struct Range {
    std::string name;
    Values values;
  };
  static FakeCounters*& current() {
    static FakeCounters* instance = nullptr;
    return instance;
  }
  Result result(const std::string& function) const {
    const auto found = fails.find(function);
    return found == fails.end() ? 0 : found->second;
  }
  int waits() const { return driver_.calls("cuCtxSynchronize"); }
  const Range& at(size_t index) const { return ranges_[ranges_.size() - 1 - index]; }

  void list(BaseMetrics& p) {
    names_.clear();
    if (p.type == 0)
      for (const std::string& name : chip_has) names_.push_back(name.c_str());
    p.names = names_.data();
    p.count = names_.size();
  }
  Result configure(const RangeConfig& p) {
    range = p.range;
    replay = p.replay;
    most_ = p.most_ranges;
    pass_ = 0;
    for (const auto& way : refused)
      if (way == std::pair{range, replay}) return not_supported;
    return 0;
  }
  void close() {
    open_ = false;
    if (has_work_ && waits() == pending_) ranges_.back().values.clear();
  }
  size_t dropped() const { return ranges_.size() > most_ ? ranges_.size() - most_ : 0; }
  void evaluate(const Evaluate& p) const {
    for (size_t i = 0; i < p.count; ++i) {
      const Values& values = at(p.range).values;
      const auto found = values.find(p.names[i]);
      p.values[i] = blind || found == values.end() ? 0 : found->second;
    }
  }

  const cuda::FakeDriver& driver_;
  Api table_;
  std::vector<const char*> names_;
  std::vector<Range> ranges_;
  bool open_ = false, has_work_ = false;
  int pending_ = 0;
  size_t most_ = 0, pass_ = 0;
};

}  // namespace deepgap::cupti
