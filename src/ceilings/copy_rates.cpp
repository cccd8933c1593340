#include "ceilings/copy_rates.h"

#include "ceilings/median.h"
#include "cuda/objects.h"

#include <sched.h>

#include <algorithm>
#include <functional>
#include <memory>

namespace deepgap {
namespace {

constexpr int copies = 8, rounds = 5;
constexpr cuda::Result already_enabled = 704;  // CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED

// The calling thread runs on these CPUs meanwhile.
class OnCpus {
 public:
  explicit OnCpus(const std::vector<int>& cpus) {
    if (cpus.empty() || ::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : cpus) CPU_SET(static_cast<size_t>(cpu), &set);
    moved_ = ::sched_setaffinity(0, sizeof set, &set) == 0;
  }
  ~OnCpus() {
    if (moved_) ::sched_setaffinity(0, sizeof before_, &before_);
  }
  OnCpus(const OnCpus&) = delete;
  OnCpus& operator=(const OnCpus&) = delete;

 private:
  cpu_set_t before_{};
  bool moved_ = false;
};

// What one GPU needs to copy. Its context is current when this has been made.
class End {
 public:
  End(const CopyEnd& end, size_t bytes)
      : device_(end.device), context_(end.device), host_(taken_near(end.near_cpus, bytes)), memory_(bytes), received_(bytes) {}

  void use() const { context_.use(); }
  void h2d() const { cuda::check(cuda::driver().cuMemcpyHtoDAsync_v2(memory_.address(), host_.data(), bytes(), stream()), copying); }
  void d2h() const { cuda::check(cuda::driver().cuMemcpyDtoHAsync_v2(host_.data(), memory_.address(), bytes(), stream()), copying); }
  void to(const End& other) const {
    cuda::check(cuda::driver().cuMemcpyPeerAsync(other.received_.address(), other.context_.handle(), memory_.address(), context_.handle(),
                                                 bytes(), stream()),
                copying);
  }
  // Lets this GPU reach the other's memory by itself, if the machine allows it.
  void reach(const End& other) const {
    int possible = 0;
    cuda::check(cuda::driver().cuDeviceCanAccessPeer(&possible, device_, other.device_), "asking whether GPUs reach each other");
    if (possible == 0) return;
    use();
    const cuda::Result result = cuda::driver().cuCtxEnablePeerAccess(other.context_.handle(), 0);
    if (result != already_enabled) cuda::check(result, "letting GPUs reach each other");
  }

  size_t bytes() const { return memory_.bytes(); }
  void begin() const { begin_.record(stream_); }
  void end() const { end_.record(stream_); }
  double seconds() const {
    end_.synchronize();
    return static_cast<double>(end_.since_ns(begin_)) / 1e9;
  }

 private:
  static constexpr const char* copying = "copying";
  cuda::StreamHandle stream() const { return stream_.get(); }
  // The driver takes memory that it locks on the calling thread's memory node.
  static cuda::PinnedMemory taken_near(const std::vector<int>& cpus, size_t bytes) {
    const OnCpus moved(cpus);
    return cuda::PinnedMemory(bytes);
  }

  int device_;
  cuda::DeviceContext context_;
  cuda::PinnedMemory host_;
  cuda::DeviceMemory memory_, received_;
  cuda::Stream stream_;
  cuda::Event begin_, end_;
};

using Ends = std::vector<const End*>;

// Returns the rate of each of `ends` while all of them copy.
std::vector<double> rates(const Ends& ends, const std::function<void(const End&)>& copy) {
  std::vector<std::vector<double>> samples(ends.size());
  const auto each = [&](const auto& act) {
    for (const End* end : ends) end->use(), act(*end);
  };
  for (int round = 0; round < rounds; ++round) {
    each([](const End& end) { end.begin(); });
    for (int i = 0; i < copies; ++i) each(copy);
    each([](const End& end) { end.end(); });
    for (size_t i = 0; i < ends.size(); ++i) {
      ends[i]->use();
      samples[i].push_back(static_cast<double>(ends[i]->bytes()) * copies / std::max(ends[i]->seconds(), 1e-9));
    }
  }
  std::vector<double> medians(ends.size());
  std::transform(samples.begin(), samples.end(), medians.begin(), median);
  return medians;
}

}  // namespace

std::vector<CopyRates> measure_copy_rates(const std::vector<CopyEnd>& wanted, size_t bytes) {
  std::vector<std::unique_ptr<End>> owned;
  Ends ends;
  for (const CopyEnd& end : wanted) ends.push_back(owned.emplace_back(std::make_unique<End>(end, bytes)).get());
  const auto h2d = [](const End& end) { end.h2d(); };
  const auto d2h = [](const End& end) { end.d2h(); };
  std::vector<CopyRates> result(ends.size());
  for (size_t i = 0; i < ends.size(); ++i) {
    result[i].h2d = rates({ends[i]}, h2d).front();
    result[i].d2h = rates({ends[i]}, d2h).front();
    result[i].to.resize(ends.size());
  }
  if (ends.size() < 2) return result;
  const auto h2d_together = rates(ends, h2d), d2h_together = rates(ends, d2h);
  for (size_t i = 0; i < ends.size(); ++i) {
    result[i].h2d_together = h2d_together[i];
    result[i].d2h_together = d2h_together[i];
    for (size_t j = 0; j < ends.size(); ++j) {
      if (i == j) continue;
      ends[i]->reach(*ends[j]);
      result[i].to[j] = rates({ends[i]}, [&](const End& end) { end.to(*ends[j]); }).front();
    }
  }
  return result;
}

}  // namespace deepgap
