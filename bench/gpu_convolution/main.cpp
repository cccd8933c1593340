// Every variant of every convolution that networks have: compiled for each kind of chip without a GPU (--compile-only), or held against a
// plain kernel and timed on one.
#include "measure.h"

#include "cuda/compiler.h"
#include "engine/gpu/libraries.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <future>
#include <mutex>
#include <regex>
#include <thread>

namespace {

using namespace deepgap;
using namespace deepgap::bench;

struct Options {
  std::string filter, family;
  std::vector<std::string> networks{"resnet50", "resnet18", "mobilenet_v2", "vit", "bert", "odd"};
  std::vector<std::string> precisions{"f32", "tf32", "f16", "bf16", "i8", "u8"};
  std::vector<int64_t> batches{1, 256};
  bool check_only = false, compile_only = false, libraries = false;
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  double seconds = 1e9;
  size_t most_variants = 1000;
};

struct Job {
  NamedProblem named;
  std::vector<gpu::ConvolutionVariant> variants;
  std::string precision;
  int64_t batch;
};

// `libraries`: what they offer, too; nullptr: nothing.
std::vector<Job> jobs_of(const Options& options, const gpu::Chip& chip, gpu::Libraries* libraries = nullptr) {
  const std::regex filter(options.filter), family(options.family);
  std::vector<Job> jobs;
  for (const std::string& network : options.networks)
    for (const std::string& precision : options.precisions)
      for (const int64_t batch : options.batches)
        for (NamedProblem& named : problems_of(network, precision, network == "odd" ? std::min<int64_t>(batch, 5) : batch)) {
          if (!std::regex_search(named.name, filter)) continue;
          std::vector<gpu::ConvolutionVariant> variants, offered = gpu::convolution_variants(named.problem, chip);
          if (libraries != nullptr)
            for (gpu::ConvolutionVariant& variant : libraries->variants(named.problem, chip)) offered.push_back(std::move(variant));
          for (gpu::ConvolutionVariant& variant : offered)
            if (std::regex_search(variant.name, family) && variants.size() < options.most_variants) variants.push_back(std::move(variant));
          jobs.push_back({std::move(named), std::move(variants), precision, batch});
        }
  return jobs;
}

// Calls f(i) for each i below `count` from several threads.
template <typename F>
void in_parallel(unsigned threads, size_t count, F f) {
  std::atomic<size_t> next{0};
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < threads; i++)
    workers.emplace_back([&] {
      for (size_t at = next++; at < count; at = next++) f(at);
    });
}

int compile_only(const Options& options) {
  if (!cuda::has_compiler()) {
    fmt::print("no NVRTC on this machine: nothing is compiled\n");
    return 77;
  }
  const std::vector<gpu::Chip> chips{{80, 108, 163 << 10}, {89, 58, 99 << 10}, {90, 132, 227 << 10}};
  std::atomic<int> kernels{0}, failures{0};
  std::mutex print;
  for (const gpu::Chip& chip : chips) {
    std::vector<std::pair<std::string, gpu::Launch>> launches;
    for (const Job& job : jobs_of(options, chip))
      for (const gpu::ConvolutionVariant& variant : job.variants)
        for (const gpu::Launch& launch : variant.launches)
          launches.emplace_back(fmt::format("{} {} b{}: {}", job.named.name, job.precision, job.batch, variant.name), launch);
    in_parallel(options.threads, launches.size(), [&](size_t i) {
      const auto& [name, launch] = launches[i];
      std::string wrong;
      try {
        const cuda::KernelResources taken = cuda::resources_of(cuda::compile(launch.source, chip.target()));
        if (taken.spill_bytes > 0 || taken.stack_bytes > 0)
          wrong = fmt::format("spills {} bytes, stack {} bytes, {} registers", taken.spill_bytes, taken.stack_bytes, taken.registers);
        if (launch.shared_bytes > chip.shared_bytes) wrong = fmt::format("asks for {} bytes of shared memory", launch.shared_bytes);
      } catch (const Error& error) {
        wrong = error.what();
      }
      kernels++;
      if (wrong.empty()) return;
      failures++;
      const std::lock_guard lock(print);
      fmt::print("{} {}: {}\n", chip.target(), name, wrong);
    });
  }
  fmt::print("{} kernels compiled, {} of them wrong\n", kernels.load(), failures.load());
  return failures == 0 && kernels > 0 ? 0 : 1;
}

// A problem prepared ahead of the device, by as many threads as there are, a few problems at a time.
struct Ready {
  Tensor weights;
  Prepared direct;
  std::vector<Prepared> variants;
};

class Ahead {
 public:
  Ahead(const std::vector<Job>& jobs, const gpu::Chip& chip, unsigned threads) : jobs_(jobs), ready_(jobs.size()), left_(jobs.size()) {
    for (size_t i = 0; i < jobs.size(); i++) {
      left_[i] = jobs[i].variants.size() + 1;
      for (size_t part = 0; part <= jobs[i].variants.size(); part++) parts_.emplace_back(i, part);
    }
    for (unsigned i = 0; i < threads; i++) workers_.emplace_back([this, &chip](const std::stop_token& stop) { work(chip, stop); });
  }
  ~Ahead() {
    for (std::jthread& worker : workers_) worker.request_stop();
    changed_.notify_all();
  }
  Ready take(size_t job) {
    std::unique_lock lock(mutex_);
    taken_ = job;
    changed_.notify_all();
    changed_.wait(lock, [&] { return left_[job] == 0; });
    return std::move(ready_[job]);
  }

 private:
  static constexpr size_t ahead = 12;

  void work(const gpu::Chip& chip, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested() && next_ < parts_.size()) {
      const auto [job, part] = parts_[next_];
      if (job > taken_ + ahead) {
        changed_.wait(lock);
        continue;
      }
      next_++;
      Ready& ready = ready_[job];
      const gpu::Convolution& problem = jobs_[job].named.problem;
      if (ready.variants.empty()) ready.variants.resize(jobs_[job].variants.size());
      if (ready.weights.data == nullptr) ready.weights = random_weights(problem);
      const Tensor weights = ready.weights;
      lock.unlock();
      const gpu::Convolution window = reference_of(problem);
      Prepared made = part == 0 ? prepare(window, gpu::direct_variants(window, chip).at(0), weights, chip)
                                : prepare(problem, jobs_[job].variants[part - 1], weights, chip);
      lock.lock();
      (part == 0 ? ready.direct : ready.variants[part - 1]) = std::move(made);
      left_[job]--;
      changed_.notify_all();
    }
  }

  const std::vector<Job>& jobs_;
  std::vector<Ready> ready_;
  std::vector<size_t> left_;
  std::vector<std::pair<size_t, size_t>> parts_;
  size_t next_ = 0, taken_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::jthread> workers_;
};

// Leads, for the column that says how near a variant is: bytes and operations a second.
struct Ceilings {
  double bytes, operations;
};
Ceilings ceilings_of(const std::string& device, gpu::ComputeType compute) {
  const double bytes = device.find("H200") != std::string::npos ? 4.28e12 : 3.0e12;
  switch (compute) {
    case gpu::ComputeType::f32:
      return {bytes, 51e12};
    case gpu::ComputeType::tf32:
      return {bytes, 400e12};
    case gpu::ComputeType::i8:
    case gpu::ComputeType::f8:
      return {bytes, 1600e12};
    default:
      return {bytes, 800e12};
  }
}

// Returns the seconds, 0 where there are none.
double report(ProblemOnDevice& there, const Job& job, const Prepared& prepared, const Options& options, const std::string& device,
              int& failures) {
  Difference difference;
  const std::string wrong = prepared.failure.empty() ? there.check(prepared, difference) : prepared.failure;
  const std::string head = fmt::format("{} {} b{} | {}", job.named.name, job.precision, job.batch, prepared.variant.name);
  if (!wrong.empty()) {
    failures++;
    fmt::print("{} | WRONG: {}\n", head, wrong);
    return 0;
  }
  if (options.check_only) {
    fmt::print("{} | right | error {:.2g} {:.2g}\n", head, difference.relative, difference.largest);
    return 0;
  }
  const double seconds = there.seconds(prepared), operations = 2 * static_cast<double>(job.named.problem.macs());
  const Ceilings ceilings = ceilings_of(device, job.named.problem.compute);
  const double limit = std::max(there.bytes() / ceilings.bytes, operations / ceilings.operations);
  fmt::print("{} | {:.2f} us | {:.1f} T/s | {:.0f} GB/s | {:.0f} % of limit | error {:.2g} {:.2g}\n", head, seconds * 1e6,
             operations / seconds * 1e-12, there.bytes() / seconds * 1e-9, 100 * limit / seconds, difference.relative, difference.largest);
  return seconds;
}

int on_device(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  const cuda::DeviceFacts facts = cuda::device_facts(0);
  const cuda::DeviceContext context(0);
  const gpu::Chip chip{facts.architecture(), facts.multiprocessors, facts.shared_bytes};
  fmt::print("{}, {}, {}\n", facts.name, cuda::compiler_description(), options.libraries ? gpu::library_versions() : "no library");
  gpu::Libraries libraries;
  const std::vector<Job> jobs = jobs_of(options, chip, options.libraries ? &libraries : nullptr);
  Ahead prepared(jobs, chip, options.threads);
  Workshop workshop(chip);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // progress is printed before a kernel loses the device
  int failures = 0;
  double waited = 0;
  for (size_t i = 0; i < jobs.size() && passed() < options.seconds; i++) {
    const Job& job = jobs[i];
    const double before = passed();
    const Ready ready = prepared.take(i);
    waited += passed() - before;
    const size_t rotating = job.batch > 1 ? 3 * facts.l2_bytes : facts.l2_bytes / 2;
    ProblemOnDevice there(workshop, job.named, ready.direct, ready.weights, rotating);
    Difference difference;
    if (const std::string wrong = there.check_reference(ready.weights, difference); !wrong.empty()) {
      fmt::print("{} {} b{} | WRONG: {}\n", job.named.name, job.precision, job.batch, wrong);
      failures++;
    }
    double best = 0, first = 0;
    std::string best_name;
    for (const Prepared& variant : ready.variants) {
      const double seconds = report(there, job, variant, options, facts.name, failures);
      if (first == 0) first = seconds;
      if (seconds > 0 && (best == 0 || seconds < best)) {
        best = seconds;
        best_name = variant.variant.name;
      }
    }
    if (best > 0)
      fmt::print("BEST {} {} b{} | {} | {:.2f} us, the first guess {:.2f}\n", job.named.name, job.precision, job.batch, best_name,
                 best * 1e6, first * 1e6);
  }
  fmt::print("{} problems in {:.0f} s, of them {:.0f} s until kernels were compiled; {} failures\n", jobs.size(), passed(), waited,
             failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Variants of convolutions on a GPU: right, and how fast");
  app.add_option("--filter", options.filter, "a regular expression that the problem's name contains");
  app.add_option("--variant", options.family, "a regular expression that the variant's name contains");
  app.add_option("--network", options.networks, "of resnet18, resnet50, mobilenet_v2, vit, bert, odd")->delimiter(',');
  app.add_option("--precision", options.precisions, "of f32, tf32, f16, bf16, i8, u8, f8")->delimiter(',');
  app.add_option("--batch", options.batches)->delimiter(',');
  app.add_option("--threads", options.threads, "that compile");
  app.add_option("--seconds", options.seconds, "after which no further problem is begun");
  app.add_option("--most", options.most_variants, "variants of a problem, in the order they are offered");
  app.add_flag("--libraries", options.libraries, "what NVIDIA's libraries do, too, where they are found; on a GPU alone");
  app.add_flag("--check-only", options.check_only, "no timing");
  app.add_flag("--compile-only", options.compile_only, "for sm_80, sm_89 and sm_90a, without a GPU; fails where a kernel spills");
  CLI11_PARSE(app, argc, argv);
  try {
    return options.compile_only ? compile_only(options) : on_device(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
