#include "kernels/range_profiler.h"

#include "cuda/driver.h"
#include "cuda/objects.h"
#include "kernels/counter_host.h"
#include "kernels/profiler_params.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <charconv>

namespace deepgap {
namespace {

using namespace cupti;

void require(const Api& api, Result result, const std::string& doing) {
  try {
    check(api, result, doing);
  } catch (const Error& error) {
    const std::string how = how_to_be_allowed(result);
    if (how.empty()) throw;
    throw Error(ErrorKind::refused, fmt::format("{}: {}", error.what(), how));
  }
}

void wait_for_device() { cuda::check(cuda::driver().cuCtxSynchronize(), "waiting for what is counted"); }

// CUPTI adds up ranges of one name, so each gets a number.
std::string numbered(size_t index) { return fmt::format("{:06}", index); }
size_t number_of(const char* name) {
  const std::string text(name == nullptr ? "" : name);
  size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    throw Error(ErrorKind::refused, fmt::format("CUPTI reports a range '{}' that deepgap did not name", text));
  return number;
}

// One list of metrics on one context, from its enabling to its disabling.
class Counting {
 public:
  Counting(const Api& api, void* context, const CounterSetup& setup, size_t most_ranges)
      : api_(api), setup_(setup), most_ranges_(most_ranges) {
    RangeEnable enable;
    enable.context = context;
    require(api_, api_.cuptiRangeProfilerEnable(&enable), "beginning to count");
    profiler_ = enable.profiler;
    try {
      make_data();
    } catch (...) {
      disable();
      throw;
    }
  }
  ~Counting() {
    if (running_) abandon();
    disable();
  }
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;

  void configure(RangeOf of, ReplayBy by) {
    of_ = of;
    RangeConfig config;
    config.profiler = profiler_;
    config.config_bytes = setup_.image.size();
    config.config = setup_.image.data();
    config.data_bytes = data_.size();
    config.data = data_.data();
    config.range = of == RangeOf::kernels ? range_of_kernel : range_of_user;
    config.replay = by == ReplayBy::cupti ? replay_of_kernel : replay_of_user;
    config.most_ranges = most_ranges_;
    require(api_, api_.cuptiRangeProfilerSetConfig(&config), "setting the hardware up to count");
  }

  // true: that was the last pass.
  bool pass(const RangeProfiler::Work& work) {
    RangeHandle start;
    start.profiler = profiler_;
    require(api_, api_.cuptiRangeProfilerStart(&start), "starting to count");
    running_ = true;
    std::vector<std::string> names;
    work([&](const std::string& name) {
      if (of_ == RangeOf::kernels) return;
      close();
      open(numbered(names.size()).c_str());
      names.push_back(name);
    });
    close();
    wait_for_device();
    if (passes_++ > 0 && names != names_) throw Error(ErrorKind::refused, "the work was another when it was done again");
    names_ = std::move(names);
    return stop();
  }
  int passes() const { return passes_; }

  std::vector<RangeCounts> decoded(const CounterHost& host) {
    RangeDecode decode;
    decode.profiler = profiler_;
    require(api_, api_.cuptiRangeProfilerDecodeData(&decode), "reading what was counted");
    if (decode.dropped > 0)
      throw Error(ErrorKind::refused, fmt::format("{} of the ranges did not fit into space for {}", decode.dropped, most_ranges_));
    CounterDataInfo info;
    info.data = data_.data();
    info.bytes = data_.size();
    require(api_, api_.cuptiRangeProfilerGetCounterDataInfo(&info), "reading what was counted");
    if (of_ == RangeOf::marks && info.ranges != names_.size())
      throw Error(ErrorKind::refused, fmt::format("{} ranges were counted of {} that were marked", info.ranges, names_.size()));
    std::vector<RangeCounts> all(info.ranges);
    std::vector<bool> seen(info.ranges);
    for (size_t range = 0; range < info.ranges; ++range) {
      const size_t place = place_of(range);
      if (place >= all.size() || seen[place])
        throw Error(ErrorKind::refused, fmt::format("CUPTI numbers {} ranges with {}", all.size(), place));
      seen[place] = true;
      all[place] = {of_ == RangeOf::marks ? names_[place] : std::string(), host.values(setup_, data_, range)};
    }
    return all;
  }

 private:
  void make_data() {
    std::vector<const char*> names;
    for (const std::string& metric : setup_.metrics) names.push_back(metric.c_str());
    CounterDataSize size;
    size.profiler = profiler_;
    size.names = names.data();
    size.count = names.size();
    size.most_ranges = most_ranges_;
    size.most_nodes = static_cast<uint32_t>(most_ranges_);
    require(api_, api_.cuptiRangeProfilerGetCounterDataSize(&size), "asking for space for counters");
    data_.resize(size.bytes);
    CounterDataStart start;
    start.profiler = profiler_;
    start.bytes = data_.size();
    start.data = data_.data();
    require(api_, api_.cuptiRangeProfilerCounterDataImageInitialize(&start), "making space for counters");
  }
  void open(const char* name) {
    RangePush push;
    push.profiler = profiler_;
    push.name = name;
    require(api_, api_.cuptiRangeProfilerPushRange(&push), "opening a range");
    open_ = true;
  }
  // Waits first: CUPTI silently leaves out what is still running at a range's end.
  void close() {
    if (!open_) return;
    wait_for_device();
    RangeHandle pop;
    pop.profiler = profiler_;
    open_ = false;
    require(api_, api_.cuptiRangeProfilerPopRange(&pop), "closing a range");
  }
  bool stop() {
    RangeStop done;
    done.profiler = profiler_;
    running_ = false;
    require(api_, api_.cuptiRangeProfilerStop(&done), "ending a pass");
    return done.is_all != 0;
  }
  void abandon() {
    RangeHandle pop;
    pop.profiler = profiler_;
    if (open_) static_cast<void>(api_.cuptiRangeProfilerPopRange(&pop));
    RangeStop done;
    done.profiler = profiler_;
    static_cast<void>(api_.cuptiRangeProfilerStop(&done));
  }
  size_t place_of(size_t range) {
    RangeInfo info;
    info.data = data_.data();
    info.bytes = data_.size();
    info.range = range;
    require(api_, api_.cuptiRangeProfilerCounterDataGetRangeInfo(&info), "asking for a range's name");
    return number_of(info.name);
  }
  void disable() {
    RangeHandle handle;
    handle.profiler = profiler_;
    static_cast<void>(api_.cuptiRangeProfilerDisable(&handle));
  }

  const Api& api_;
  const CounterSetup& setup_;
  size_t most_ranges_;
  void* profiler_ = nullptr;
  std::vector<uint8_t> data_;
  RangeOf of_ = RangeOf::marks;
  std::vector<std::string> names_;
  int passes_ = 0;
  bool running_ = false, open_ = false;
};

std::string chip_of_device(const Api& api, int device) {
  ChipName name;
  name.device = static_cast<size_t>(device);
  require(api, api.cuptiDeviceGetChipName(&name), fmt::format("asking which chip cuda:{} is", device));
  return name.name;
}

std::vector<uint8_t> what_is_available(const Api& api, void* context) {
  CounterAvailability asked;
  asked.context = context;
  require(api, api.cuptiProfilerGetCounterAvailability(&asked), "asking which counters may be read");
  std::vector<uint8_t> image(asked.bytes);
  asked.image = image.data();
  require(api, api.cuptiProfilerGetCounterAvailability(&asked), "asking which counters may be read");
  image.resize(asked.bytes);
  return image;
}

// A pass too many means that CUPTI never says that it has enough.
constexpr int more_passes = 64;

}  // namespace

std::string how_to_be_allowed(Result result) {
  switch (result) {
    case insufficient_privileges:
      return "run as root, or have NVIDIA's driver loaded with NVreg_RestrictProfilingToAdminUsers=0 (a line 'options nvidia "
             "NVreg_RestrictProfilingToAdminUsers=0' in /etc/modprobe.d, then a restart); a container also wants the capability SYS_ADMIN";
    case virtual_insufficient_privileges:
      return "the virtual machine's host has to allow profiling of its virtual GPU";
    case hardware_busy:
      return "another program is counting on this device (DCGM's profiling metrics do: 'dcgmi profiling --pause')";
    default:
      return {};
  }
}

RangeProfiler::RangeProfiler(const Api& api, int device) : api_(api) {
  require_range_profiler(api);
  ProfilerStart start;
  require(api_, api_.cuptiProfilerInitialize(&start), "preparing to count");
  try {
    chip_ = chip_of_device(api_, device);
    context_ = std::make_unique<cuda::DeviceContext>(device);
    available_ = what_is_available(api_, context_->handle());
  } catch (...) {
    static_cast<void>(api_.cuptiProfilerDeInitialize(&start));
    throw;
  }
}

RangeProfiler::~RangeProfiler() {
  ProfilerStart done;
  static_cast<void>(api_.cuptiProfilerDeInitialize(&done));
}

Counted RangeProfiler::count(const std::vector<std::string>& metrics, RangeOf of, ReplayBy by, size_t most_ranges, const Work& work,
                             const std::function<void()>& before) {
  CounterHost host(api_, chip_, available_);
  const CounterSetup setup = host.setup(metrics);
  Counting counting(api_, context_->handle(), setup, most_ranges);
  counting.configure(of, by);
  const int most = static_cast<int>(setup.passes) + more_passes;
  for (bool is_all = false; !is_all;) {
    if (counting.passes() >= most)
      throw Error(ErrorKind::refused, fmt::format("CUPTI asked for more than {} passes, where it announced {}", most, setup.passes));
    if (before) {
      before();
      wait_for_device();
    }
    is_all = counting.pass(work);
  }
  Counted result;
  result.ranges = counting.decoded(host);
  result.passes = counting.passes();
  return result;
}

}  // namespace deepgap
