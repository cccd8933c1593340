#include "ceilings/gpu_ceilings.h"

#include "base/quantity.h"
#include "base/throttle.h"
#include "ceilings/gpu_ceiling_kernels.h"
#include "ceilings/median.h"
#include "cuda/objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

namespace deepgap {
namespace {

using Seconds = std::chrono::duration<double>;
using WallClock = std::chrono::steady_clock;

constexpr double burst_s = 0.001, sustained_s = 0.25;
constexpr int bursts = 12, pause_ms = 2;  // between bursts, so that none is sustained
constexpr int64_t most_rounds = int64_t{1} << 24;
constexpr size_t bus_bytes = size_t{64} << 20;
constexpr int many_launches = 500, round_trips = 50;

// The work that is measured: it queues `rounds` of it.
using Work = std::function<void(int64_t rounds)>;

struct Rate {
  double best = 0, median = 0;  // amounts a second
};

class Bench {
 public:
  Bench(int device, const GpuMeter& meter, const GpuCompiler& compile)
      : context_(device), facts_(cuda::device_facts(device)), meter_(meter), compile_(compile) {}
  const cuda::DeviceFacts& facts() const { return facts_; }
  const cuda::Stream& stream() const { return stream_; }
  cuda::Module compiled(const std::string& text) const { return cuda::Module(compile_(text, gpu_target(facts_.architecture())).cubin); }

  template <typename Queue>
  double seconds_of(const Queue& queue) const {
    begin_.record(stream_);
    queue();
    end_.record(stream_);
    end_.synchronize();
    return static_cast<double>(end_.since_ns(begin_)) / 1e9;
  }

  // Returns the number of rounds for a burst: doubled until the burst is long enough to be measured.
  int64_t calibrated(const Work& work) const {
    for (int64_t rounds = 1;; rounds *= 2) {
      const double seconds = seconds_of([&] { work(rounds); });
      if (seconds > burst_s / 4 || rounds >= most_rounds)
        return std::clamp<int64_t>(static_cast<int64_t>(static_cast<double>(rounds) * burst_s / std::max(seconds, 1e-9)), 1, most_rounds);
    }
  }

  Rate rate_of(const Work& work, int64_t rounds, double amount_of_round) const {
    std::vector<double> seconds;
    work(rounds);
    for (int i = 0; i < bursts; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
      seconds.push_back(seconds_of([&] { work(rounds); }));
    }
    std::sort(seconds.begin(), seconds.end());
    const double amount = amount_of_round * static_cast<double>(rounds);
    return {amount / seconds.front(), amount / seconds[seconds.size() / 2]};
  }

  // The second half of it counts, in which the clocks have settled.
  Sustained sustain(const Work& work, int64_t rounds, double amount_of_round) const {
    const int halves = std::max(1, static_cast<int>(sustained_s / burst_s / 2));
    for (int i = 0; i < halves; ++i) work(rounds);
    begin_.record(stream_);
    for (int i = 0; i < halves; ++i) work(rounds);
    end_.record(stream_);
    Sustained result = watch();
    result.per_s = amount_of_round * static_cast<double>(rounds) * halves * 1e9 / static_cast<double>(end_.since_ns(begin_));
    return result;
  }

 private:
  // Readings until the work has ended; means of those that were taken since the second half began.
  Sustained watch() const {
    std::vector<GpuState> states;
    while (!end_.passed()) {
      const bool settled = begin_.passed();
      const GpuState state = meter_ ? meter_() : GpuState{};
      if (settled && !end_.passed()) states.push_back(state);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    Sustained result;
    uint64_t reasons = 0;
    for (const GpuState& state : states) {
      const auto count = static_cast<double>(states.size());
      result.sm_hz += state.sm_hz / count;
      result.memory_hz += state.memory_hz / count;
      result.power_w += state.power_w / count;
      reasons |= state.throttle_reasons;
    }
    if (!states.empty() && states.back().sm_hz > 0) result.limited_by = throttle_words(reasons & throttled_at_all);
    return result;
  }

  cuda::DeviceContext context_;
  cuda::DeviceFacts facts_;
  const GpuMeter& meter_;
  const GpuCompiler& compile_;
  cuda::Stream stream_;
  cuda::Event begin_, end_;
};

struct Grid {
  unsigned blocks = 1, threads = 1;
  size_t shared_bytes = 0;
};

template <typename... Arguments>
void launch(const Bench& bench, cuda::Function function, const Grid& grid, Arguments... arguments) {
  cuda::LaunchConfig config{};
  config.grid_x = grid.blocks;
  config.block_x = grid.threads;
  config.grid_y = config.grid_z = config.block_y = config.block_z = 1;
  config.shared_bytes = static_cast<unsigned>(grid.shared_bytes);
  config.stream = bench.stream().get();
  std::array<void*, sizeof...(arguments) + 1> pointers{&arguments..., nullptr};
  cuda::check(cuda::driver().cuLaunchKernelEx(&config, function, pointers.data(), nullptr), "measuring ceilings");
}

// Tensor cores of the chips that are known do at most 32 times what threads do in FP32 (data_sheets.csv). What does more than twice that is
// no instruction's rate: the compiler has left the work out, or the clock is wrong.
constexpr double most_of_fp32 = 64;

// Returns the reference for all others: threads in FP32, measured first. 0: not yet measured.
double fp32_flop_per_s(const Ceilings& ceilings) { return ceilings.compute.empty() ? 0 : ceilings.compute.front().flop_per_s; }

void keep_if_possible(Ceilings& ceilings, ComputeCeiling measured) {
  const double fp32 = fp32_flop_per_s(ceilings);
  if (fp32 > 0 && measured.flop_per_s > most_of_fp32 * fp32)
    ceilings.left_out.push_back(fmt::format("{} {}: {} TFLOP/s cannot be, {:.0f} times what {} does", measured.precision, measured.kernel,
                                            short_text(measured.flop_per_s / 1e12, 4), measured.flop_per_s / fp32,
                                            ceilings.compute.front().kernel));
  else
    ceilings.compute.push_back(std::move(measured));
}

// A multiprocessor reads at most 128 bytes a clock out of its first-level cache or shared memory, and does 128 operations in FP32 or more
// in it (64 or 128 multiply-adds): the same as above.
constexpr double most_near_bytes_per_flop = 1.25;

double near_if_possible(Ceilings& ceilings, const char* what, double bytes_per_s) {
  const double fp32 = fp32_flop_per_s(ceilings);
  if (fp32 == 0 || bytes_per_s <= most_near_bytes_per_flop * fp32) return bytes_per_s;
  ceilings.left_out.push_back(fmt::format("{}: {} TB/s cannot be beside {} TFLOP/s of {}", what, short_text(bytes_per_s / 1e12, 4),
                                          short_text(fp32 / 1e12, 4), ceilings.compute.front().kernel));
  return 0;
}

ComputeCeiling measure_compute(const Bench& bench, const GpuComputeKernel& kernel) {
  const cuda::Module module = bench.compiled(kernel.text);
  const cuda::Function function = module.function(kernel.entry, kernel.shared_bytes);
  const Grid grid{static_cast<unsigned>(bench.facts().multiprocessors) * kernel.blocks_per_multiprocessor, kernel.threads,
                  kernel.shared_bytes};
  const cuda::DeviceMemory out(sizeof(float));
  const Work work = [&](int64_t rounds) { launch(bench, function, grid, out.address(), static_cast<int>(rounds), 1.0F); };
  const int64_t rounds = bench.calibrated(work);
  const double flop = kernel.flop_per_round * grid.blocks;
  const Rate rate = bench.rate_of(work, rounds, flop);
  return {kernel.precision, kernel.name, rate.best, rate.median, bench.sustain(work, rounds, flop)};
}

class MemoryBench {
 public:
  MemoryBench(const Bench& bench, size_t bytes)
      : bench_(bench),
        module_(bench.compiled(gpu_memory_text())),
        read_(module_.function("read_memory", 0)),
        copy_(module_.function("copy_memory", 0)),
        memory_(bytes),
        out_(16) {
    cuda::check(cuda::driver().cuMemsetD8Async(memory_.address(), 1, memory_.bytes(), bench.stream().get()), "filling memory");
  }
  cuda::Function nothing() const { return module_.function("nothing", 0); }

  MemoryCeiling measure(int64_t footprint, bool sustain) const {
    const Grid grid{static_cast<unsigned>(bench_.facts().multiprocessors) * 8, gpu_memory_threads, 0};
    const long long count = footprint / 16, half = count / 2;
    const auto bytes = static_cast<double>(footprint);
    const Work read = [&, count](int64_t passes) {
      launch(bench_, read_, grid, memory_.address(), count, static_cast<int>(passes), out_.address());
    };
    const Work copy = [&, half](int64_t passes) {
      launch(bench_, copy_, grid, memory_.address(), memory_.address() + static_cast<cuda::Address>(half) * 16, half,
             static_cast<int>(passes));
    };
    const Rate reading = bench_.rate_of(read, bench_.calibrated(read), bytes);
    const int64_t passes = bench_.calibrated(copy);
    const Rate copying = bench_.rate_of(copy, passes, bytes);
    MemoryCeiling ceiling{footprint, reading.best, copying.best, reading.best > copying.best ? reading.median : copying.median};
    if (sustain) ceiling.sustained = bench_.sustain(copy, passes, bytes);
    return ceiling;
  }

  double near_bytes_per_s(bool shared) const {
    const Grid grid{static_cast<unsigned>(bench_.facts().multiprocessors), gpu_near_threads, 0};
    const cuda::Function function = module_.function(shared ? "read_shared" : "read_near", 0);
    const Work work = [&](int64_t passes) {
      if (shared)
        launch(bench_, function, grid, static_cast<int>(passes), 0, out_.address());
      else
        launch(bench_, function, grid, memory_.address(), static_cast<int>(passes), 0, out_.address());
    };
    return bench_.rate_of(work, bench_.calibrated(work), static_cast<double>(gpu_near_bytes) * grid.blocks).best;
  }

 private:
  const Bench& bench_;
  cuda::Module module_;
  cuda::Function read_, copy_;
  cuda::DeviceMemory memory_, out_;
};

LaunchCeiling measure_launches(const Bench& bench, cuda::Function nothing) {
  const auto queue = [&] {
    for (int i = 0; i < many_launches; ++i) launch(bench, nothing, Grid{1, 32, 0});
  };
  const auto graph = cuda::CudaGraph::record(bench.stream(), queue);
  LaunchCeiling result;
  std::vector<double> issue, stream, graphs, events, trips;
  for (int i = 0; i < bursts; ++i) {
    bench.stream().synchronize();
    stream.push_back(bench.seconds_of([&] {
      const auto begin = WallClock::now();
      queue();
      issue.push_back(Seconds(WallClock::now() - begin).count() / many_launches);
    }) / many_launches);
    graphs.push_back(bench.seconds_of([&] { graph.launch(bench.stream()); }) / many_launches);
    events.push_back(bench.seconds_of([] {}));
  }
  for (int i = 0; i < round_trips; ++i) {
    const auto begin = WallClock::now();
    launch(bench, nothing, Grid{1, 32, 0});
    bench.stream().synchronize();
    trips.push_back(Seconds(WallClock::now() - begin).count());
  }
  return {median(issue), median(stream), median(graphs), median(trips), median(events)};
}

void measure_bus(const Bench& bench, GpuCeilings& gpu) {
  const cuda::PinnedMemory host(bus_bytes);
  const cuda::DeviceMemory device(bus_bytes);
  const auto best = [&](const auto& copy) {
    double seconds = 1e9;
    for (int i = 0; i < bursts / 2; ++i) seconds = std::min(seconds, bench.seconds_of(copy));
    return static_cast<double>(bus_bytes) / std::max(seconds, 1e-9);
  };
  gpu.to_device_bytes_per_s = best(
      [&] { cuda::check(cuda::driver().cuMemcpyHtoDAsync_v2(device.address(), host.data(), bus_bytes, bench.stream().get()), "copying"); });
  gpu.to_host_bytes_per_s = best(
      [&] { cuda::check(cuda::driver().cuMemcpyDtoHAsync_v2(host.data(), device.address(), bus_bytes, bench.stream().get()), "copying"); });
}

size_t free_bytes() {
  size_t free = 0, total = 0;
  cuda::check(cuda::driver().cuMemGetInfo_v2(&free, &total), "asking for free memory");
  return free;
}

}  // namespace

std::vector<int64_t> gpu_footprints(int64_t cache_bytes, int64_t memory_bytes) {
  constexpr int64_t first = int64_t{4} << 20, enough = int64_t{1} << 30;
  const int64_t last = std::max(first, std::min(std::max(enough, 8 * cache_bytes), memory_bytes) / 4096 * 4096);
  std::vector<int64_t> footprints;
  for (int64_t bytes = first; bytes < last; bytes *= 2) footprints.push_back(bytes);
  footprints.push_back(last);
  return footprints;
}

Ceilings measure_gpu_ceilings(int device, const GpuMeter& meter, const GpuCompiler& compile) {
  const auto begin = WallClock::now();
  const Bench bench(device, meter, compile);
  Ceilings ceilings;
  GpuCeilings& gpu = ceilings.gpu.emplace();
  gpu.device = bench.facts().name;
  gpu.architecture = bench.facts().architecture();
  gpu.multiprocessors = bench.facts().multiprocessors;
  gpu.cache_bytes = static_cast<int64_t>(bench.facts().l2_bytes);
  for (const GpuComputeKernel& kernel : gpu_compute_kernels(bench.facts().architecture()))
    keep_if_possible(ceilings, measure_compute(bench, kernel));
  const auto footprints = gpu_footprints(gpu.cache_bytes, static_cast<int64_t>(free_bytes() / 4));
  const size_t near = static_cast<size_t>(bench.facts().multiprocessors) * gpu_near_bytes;
  const MemoryBench memory(bench, std::max(static_cast<size_t>(footprints.back()), near));
  for (const int64_t footprint : footprints) ceilings.memory.push_back(memory.measure(footprint, footprint == footprints.back()));
  gpu.l1_bytes_per_s = near_if_possible(ceilings, "first-level caches", memory.near_bytes_per_s(false));
  gpu.shared_bytes_per_s = near_if_possible(ceilings, "shared memory", memory.near_bytes_per_s(true));
  gpu.launch = measure_launches(bench, memory.nothing());
  measure_bus(bench, gpu);
  ceilings.seconds = Seconds(WallClock::now() - begin).count();
  return ceilings;
}

}  // namespace deepgap
