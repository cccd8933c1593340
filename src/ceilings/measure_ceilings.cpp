#include "ceilings/ceilings.h"
#include "ceilings/crew.h"
#include "ceilings/kernels.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>

namespace deepgap {
namespace {

// Short, so that some samples fit between what disturbs them.
constexpr double sample_s = 0.002;
constexpr int samples = 20, samples_in_memory = 4;

const ComputeKernel* const kernels[] = {&portable_fp32, &avx2_fp32, &avx512_fp32,  &avx512_fp16,     &avx512_bf16,
                                        &amx_bf16,      &avx2_int8, &avxvnni_int8, &avx512vnni_int8, &amx_int8};

struct Rate {
  double best = 0, median = 0;  // amounts a second
};

Rate rate_of(std::vector<double> seconds, double amount) {
  std::sort(seconds.begin(), seconds.end());
  return {amount / seconds.front(), amount / seconds[seconds.size() / 2]};
}

// Returns the number of rounds of `work` for a sample: doubled until a sample is long enough to be measured.
int64_t calibrated(const std::vector<int>& cpus, const std::function<void(int64_t rounds)>& work) {
  int64_t rounds = 1;
  while (true) {
    const double seconds = run_together(cpus, 1, [&](size_t) { work(rounds); }).front();
    if (seconds > sample_s / 8) return std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(rounds) * sample_s / seconds));
    rounds *= 2;
  }
}

ComputeCeiling measure_compute(const ComputeKernel& kernel, const std::vector<int>& cpus) {
  const int64_t rounds = calibrated({cpus.front()}, kernel.run);
  const auto seconds = run_together(cpus, samples, [&](size_t) { kernel.run(rounds); });
  const Rate rate = rate_of(seconds, kernel.flop(rounds) * static_cast<double>(cpus.size()));
  return {kernel.precision, kernel.name, rate.best, rate.median};
}

// Each thread's part of the memory, on its own node since it is the first to touch it.
class Parts {
 public:
  Parts(size_t threads, size_t bytes_each) : bytes_(bytes_each), parts_(threads) {
    for (auto& part : parts_) {
      void* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) throw std::bad_alloc();
      ::madvise(memory, bytes_, MADV_HUGEPAGE);
      part = static_cast<std::byte*>(memory);
    }
  }
  ~Parts() {
    for (auto* part : parts_) ::munmap(part, bytes_);
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  std::byte* operator[](size_t thread) const { return parts_[thread]; }
  void touch(size_t thread) { std::fill_n(parts_[thread], bytes_, std::byte{0}); }

 private:
  size_t bytes_;
  std::vector<std::byte*> parts_;
};

std::atomic<uint64_t> read_sink;

MemoryCeiling measure_memory(const Parts& parts, int64_t footprint, const std::vector<int>& cpus) {
  const MemoryKernel kernel = memory_kernel();
  const auto each = static_cast<size_t>(footprint) / cpus.size();
  const size_t third = each / 3 / 256 * 256;
  const auto read = [&](size_t thread, int64_t rounds) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < rounds; ++i) sum += kernel.read(parts[thread], each);
    read_sink.fetch_add(sum, std::memory_order_relaxed);
  };
  const auto triad = [&](size_t thread, int64_t rounds) {
    auto* at = reinterpret_cast<float*>(parts[thread]);
    const size_t step = third / sizeof(float);
    for (int64_t i = 0; i < rounds; ++i) kernel.triad(at, at + step, at + 2 * step, 0.5F, third);
  };
  const auto measure = [&](const auto& work, size_t bytes) {
    const int64_t rounds = calibrated({cpus.front()}, [&](int64_t n) { work(0, n); });
    const auto seconds = run_together(cpus, rounds == 1 ? samples_in_memory : samples, [&](size_t thread) { work(thread, rounds); });
    return rate_of(seconds, static_cast<double>(bytes) * static_cast<double>(rounds) * static_cast<double>(cpus.size()));
  };
  const Rate reading = measure(read, each), adding = measure(triad, 3 * third);
  return {footprint, reading.best, adding.best, reading.best > adding.best ? reading.median : adding.median};
}

}  // namespace

bool is_undisturbed(const Ceilings& ceilings) {
  return std::all_of(ceilings.compute.begin(), ceilings.compute.end(),
                     [](const ComputeCeiling& ceiling) { return ceiling.median_flop_per_s >= 0.8 * ceiling.flop_per_s; });
}

std::vector<int64_t> footprints_for(size_t threads, int64_t last_cache_bytes, int64_t memory_bytes) {
  constexpr int64_t first = 16 << 10, enough = int64_t{64} << 20;
  const auto each_of = static_cast<int64_t>(threads);
  const int64_t last = std::max(first, std::min(std::max(enough, 4 * last_cache_bytes), memory_bytes) / each_of / 768 * 768);
  std::vector<int64_t> footprints;
  for (int64_t each = first; each < last; each *= 2) footprints.push_back(each * each_of);
  footprints.push_back(last * each_of);
  return footprints;
}

Ceilings measure_ceilings(const CeilingsRequest& request) {
  const auto begin = std::chrono::steady_clock::now();
  Ceilings ceilings;
  ceilings.threads = static_cast<int>(request.cpus.size());
  for (const ComputeKernel* kernel : kernels)
    if (kernel->available()) ceilings.compute.push_back(measure_compute(*kernel, request.cpus));
  const auto footprints = footprints_for(request.cpus.size(), request.last_cache_bytes, request.memory_bytes);
  Parts parts(request.cpus.size(), static_cast<size_t>(footprints.back()) / request.cpus.size());
  run_together(request.cpus, 1, [&](size_t thread) { parts.touch(thread); });
  for (const int64_t footprint : footprints) ceilings.memory.push_back(measure_memory(parts, footprint, request.cpus));
  ceilings.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return ceilings;
}

}  // namespace deepgap
