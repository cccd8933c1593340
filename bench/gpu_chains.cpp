// Chains of convolutions as ResNets and MobileNetV2 have them (engine/gpu/chain.h): each kernel held against the same convolutions one by
// one, with integers byte for byte, and timed beside them. Wants a GPU.
#include "gpu_convolution/measure.h"

#include "cuda/compiler.h"
#include "engine/gpu/chain.h"
#include "engine/gpu/kernels.h"
#include "engine/gpu/tuned_file.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <regex>

namespace {

using namespace deepgap;
using namespace deepgap::bench;

gpu::Convolution layer(gpu::ComputeType compute, int64_t batch, int64_t size, int64_t in, int64_t out, int64_t kernel, bool adds) {
  using gpu::Element;
  using gpu::EpilogueStep;
  gpu::Convolution p;
  p.compute = compute;
  const bool bytes = compute == gpu::ComputeType::i8;
  p.source = p.epilogue.target = p.epilogue.residual = bytes ? Element::u8 : Element::f16;
  p.batch = batch;
  p.in_h = p.in_w = p.out_h = p.out_w = size;
  p.in_channels = p.in_pitch = in;
  p.out_channels = p.out_pitch = out;
  p.kernel_h = p.kernel_w = kernel;
  p.pad_top = p.pad_left = kernel / 2;
  if (adds && bytes) p.epilogue.steps.push_back(EpilogueStep::rounded(0.02F, 128, Element::u8));
  if (adds) p.epilogue.steps.push_back(EpilogueStep::of(EpilogueStep::Kind::add));
  p.epilogue.steps.push_back(EpilogueStep::clamped(0, std::numeric_limits<float>::infinity()));
  if (bytes) p.epilogue.target_inverse = 60;
  if (bytes) p.epilogue.residual_scale = 0.01F;
  return p;
}

struct Named {
  std::string name;
  gpu::Chain chain;
};

// MobileNetV2's block: `wide` 0: the first one, which does not expand.
gpu::Chain inverted(int64_t batch, int64_t size, int64_t in, int64_t wide, int64_t out, int64_t stride) {
  using gpu::EpilogueStep;
  const auto clamped = [](gpu::Convolution p) {
    p.epilogue.steps = {EpilogueStep::clamped(0, 6)};
    return p;
  };
  const bool expands = wide > 0;
  if (!expands) wide = in;
  const auto f16 = gpu::ComputeType::f16;
  gpu::Convolution depthwise = clamped(layer(f16, batch, size, wide, wide, 3, false));
  depthwise.groups = wide;
  depthwise.stride_h = depthwise.stride_w = stride;
  depthwise.out_h = depthwise.out_w = (size + 1) / stride;
  gpu::Convolution project = layer(f16, batch, depthwise.out_h, wide, out, 1, false);
  project.epilogue.steps.clear();
  if (stride == 1 && in == out) project.epilogue.steps = {EpilogueStep::of(EpilogueStep::Kind::add)};
  gpu::Chain chain{.links = {{depthwise, false}, {project}}, .branch = {}};
  if (expands) chain.links.insert(chain.links.begin(), {clamped(layer(f16, batch, size, in, wide, 1, false)), false});
  return chain;
}

std::vector<Named> inverted_residuals(int64_t batch) {
  return {
      {"112 32>16 inverted", inverted(batch, 112, 32, 0, 16, 1)},       {"112 16>96/2>24 inverted", inverted(batch, 112, 16, 96, 24, 2)},
      {"56 24>144>24+ inverted", inverted(batch, 56, 24, 144, 24, 1)},  {"56 24>144/2>32 inverted", inverted(batch, 56, 24, 144, 32, 2)},
      {"28 32>192>32+ inverted", inverted(batch, 28, 32, 192, 32, 1)},  {"28 32>192/2>64 inverted", inverted(batch, 28, 32, 192, 64, 2)},
      {"14 64>384>64+ inverted", inverted(batch, 14, 64, 384, 64, 1)},  {"14 64>384>96 inverted", inverted(batch, 14, 64, 384, 96, 1)},
      {"14 96>576>96+ inverted", inverted(batch, 14, 96, 576, 96, 1)},  {"14 96>576/2>160 inverted", inverted(batch, 14, 96, 576, 160, 2)},
      {"7 160>960>160+ inverted", inverted(batch, 7, 160, 960, 160, 1)}};
}

std::vector<Named> chains_of(gpu::ComputeType compute, int64_t batch) {
  const auto of = [&](int64_t size, int64_t in, int64_t out, int64_t kernel, bool adds) {
    return layer(compute, batch, size, in, out, kernel, adds);
  };
  const auto three = [&](int64_t next) {
    return gpu::Chain{.links = {{of(56, 64, 64, 3, false), false}, {of(56, 64, 256, 1, true)}, {of(56, 256, next, 1, false)}},
                      .branch = {}};
  };
  gpu::Chain begin = three(64);
  begin.branch = of(56, 64, 256, 1, false);
  gpu::Chain begin_pair{.links = {{of(56, 64, 256, 1, true)}, {of(56, 256, 64, 1, false)}}, .branch = begin.branch};
  const auto pair = [&](int64_t size, int64_t narrow, int64_t wide, int64_t next) {
    return gpu::Chain{.links = {{of(size, narrow, wide, 1, true)}, {of(size, wide, next, 1, false)}}, .branch = {}};
  };
  std::vector<Named> all{
      {"56 3x3>256+branch>64", begin},          {"56 256+branch>64", begin_pair},          {"56 3x3>256+>64", three(64)},
      {"56 3x3>256+>128", three(128)},          {"56 256+>64", pair(56, 64, 256, 64)},     {"28 512+>128", pair(28, 128, 512, 128)},
      {"28 512+>256", pair(28, 128, 512, 256)}, {"14 1024+>256", pair(14, 256, 1024, 256)}};
  if (compute == gpu::ComputeType::f16)
    for (Named& named : inverted_residuals(batch)) all.push_back(std::move(named));
  return all;
}

// Holds what a chain reads and writes, and its parts' kernels.
class Trial {
 public:
  Trial(Workshop& workshop, gpu::Kernels& kernels, const gpu::Chip& chip, const gpu::TunedFile& known, const gpu::Chain& chain)
      : workshop_(workshop), kernels_(kernels), chain_(chain), problems_(chain.problems()) {
    const gpu::Convolution &first = *problems_[0], &adding = chain.adding();
    source_ = filled(source_bytes(first), first.source, 1);
    added_ = chain.branch ? filled(source_bytes(*chain.branch), chain.branch->source, 2)
                          : filled(target_bytes(adding), adding.epilogue.residual, 2);
    for (const gpu::Convolution* p : problems_) {
      weights_.push_back(random_weights(*p));
      scale_bias_.push_back(random_scale_bias(*p, weights_.back()));
      const auto offered = gpu::convolution_variants(*p, chip);
      const std::string* winner = known.find(p->key());
      const auto found =
          std::find_if(offered.begin(), offered.end(), [&](const auto& variant) { return winner != nullptr && variant.name == *winner; });
      parts_.push_back(found == offered.end() ? offered.at(0) : *found);
      packed_.push_back(uploaded(parts_.back().pack(*p, parts_.back(), weights_.back())));
      tables_.push_back(uploaded(parts_.back().packed_scale_bias(*p, scale_bias_.back())));
      right_.emplace_back(target_bytes(*p));
    }
    for (const gpu::Convolution* p : problems_) found_.emplace_back(target_bytes(*p));
    for (size_t i = 0; i < problems_.size(); ++i)
      for (const gpu::Launch& launch : parts_[i].launches) part_launches_.emplace_back(launch, kernels.function(launch), of_part(i));
    if (chain.branch) std::rotate(part_launches_.begin(), part_launches_.end() - 1, part_launches_.end());
    run(part_launches_);
  }

  double seconds_of_parts() { return seconds(part_launches_); }
  // 0, with what is wrong said: none.
  double seconds_of(const gpu::ChainVariant& variant, std::string& wrong) {
    const cuda::DeviceMemory packed = uploaded(variant.pack(chain_, variant, weights_));
    std::vector<float> tables;
    for (const auto& table : scale_bias_) tables.insert(tables.end(), table.begin(), table.end());
    const cuda::DeviceMemory scale_bias =
        uploaded({reinterpret_cast<const std::byte*>(tables.data()), reinterpret_cast<const std::byte*>(tables.data() + tables.size())});
    const auto address = [&](int role) -> cuda::Address {
      if (role == gpu::chain_source) return source_.address();
      if (role == gpu::chain_weights) return packed.address();
      if (role == gpu::chain_scale_bias) return scale_bias.address();
      if (role == gpu::chain_added) return added_.address();
      const auto link = static_cast<size_t>(role - gpu::chain_targets);
      return link < chain_.links.size() && chain_.links[link].stored ? found_[link].address() : 0;
    };
    const std::vector<gpu::BoundLaunch> launches{{variant.launch, kernels_.function(variant.launch), address}};
    for (const auto& memory : found_)
      if (memory.bytes() > 0)
        cuda::check(cuda::driver().cuMemsetD8Async(memory.address(), 0xAA, memory.bytes(), workshop_.stream().get()), "poisoning");
    workshop_.stream().synchronize();  // a kernel may begin before what is no kernel has ended
    run(launches);
    for (size_t i = 0; i < chain_.links.size(); ++i) {
      if (!chain_.links[i].stored) continue;
      const gpu::Convolution& p = *problems_[i];
      const auto bytes = static_cast<int64_t>(target_bytes(p));
      if (p.compute == gpu::ComputeType::i8) {
        if (const int64_t different = workshop_.different_bytes(found_[i].address(), right_[i].address(), bytes); different > 0)
          wrong += fmt::format(" WRONG: link {}: {} of {} bytes", i, different, bytes);
        continue;
      }
      const Difference difference = workshop_.compare(found_[i].address(), right_[i].address(), p.batch * p.out_h * p.out_w, p.out_channels,
                                                      p.out_pitch, p.epilogue.target);
      wrong +=
          fmt::format(" link {}: {:.1e}{}", i, difference.relative, difference.wrong > 0 || !(difference.relative < 2e-3) ? " WRONG" : "");
    }
    return seconds(launches);
  }
  // Read and written once.
  double bytes() const {
    double all = static_cast<double>(source_.bytes() + (chain_.adding().epilogue.has_residual() ? added_.bytes() : 0));
    for (size_t i = 0; i < chain_.links.size(); ++i)
      if (chain_.links[i].stored) all += static_cast<double>(found_[i].bytes());
    return all;
  }

 private:
  static size_t source_bytes(const gpu::Convolution& p) {
    return static_cast<size_t>(p.batch * p.in_h * p.in_w * p.in_pitch) * gpu::byte_size(p.source);
  }
  static size_t target_bytes(const gpu::Convolution& p) {
    return static_cast<size_t>(p.batch * p.out_h * p.out_w * p.out_pitch) * gpu::byte_size(p.epilogue.target);
  }
  static cuda::DeviceMemory uploaded(const std::vector<std::byte>& bytes) {
    cuda::DeviceMemory memory(bytes.size());
    cuda::upload(memory.address(), bytes.data(), bytes.size());
    return memory;
  }
  cuda::DeviceMemory filled(size_t bytes, gpu::Element element, unsigned seed) {
    cuda::DeviceMemory memory(bytes);
    workshop_.fill(memory.address(), static_cast<int64_t>(bytes / gpu::byte_size(element)), element, seed);
    return memory;
  }
  gpu::AddressOf of_part(size_t i) {
    return [this, i](int role) -> cuda::Address {
      const size_t links = chain_.links.size();
      switch (role) {
        case gpu::role_source:
          return i == links ? added_.address() : i == 0 ? source_.address() : right_[i - 1].address();
        case gpu::role_weights:
          return packed_[i].address();
        case gpu::role_scale_bias:
          return tables_[i].address();
        case gpu::role_residual:
          return chain_.branch ? right_.back().address() : added_.address();
        default:
          return right_[i].address();
      }
    };
  }
  void run(const std::vector<gpu::BoundLaunch>& launches) {
    for (const gpu::BoundLaunch& launch : launches) launch.run(workshop_.stream().get());
    workshop_.stream().synchronize();
  }
  double seconds(const std::vector<gpu::BoundLaunch>& launches) {
    constexpr int count = 10, rounds = 7;
    const cuda::CudaGraph graph = cuda::CudaGraph::record(workshop_.stream(), [&] {
      for (int i = 0; i < count; ++i)
        for (const gpu::BoundLaunch& launch : launches) launch.run(workshop_.stream().get());
    });
    const cuda::Event begin, end;
    std::vector<double> times;
    for (int round = 0; round <= rounds; ++round) {
      begin.record(workshop_.stream());
      graph.launch(workshop_.stream());
      end.record(workshop_.stream());
      end.synchronize();
      if (round > 0) times.push_back(static_cast<double>(end.since_ns(begin)) * 1e-9 / count);
    }
    std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
    return times[rounds / 2];
  }

  Workshop& workshop_;
  gpu::Kernels& kernels_;
  const gpu::Chain& chain_;
  std::vector<const gpu::Convolution*> problems_;
  std::vector<Tensor> weights_;
  std::vector<std::vector<float>> scale_bias_;
  std::vector<gpu::ConvolutionVariant> parts_;
  cuda::DeviceMemory source_, added_;
  std::vector<cuda::DeviceMemory> packed_, tables_, right_, found_;
  std::vector<gpu::BoundLaunch> part_launches_;
};

// Checks, without a GPU, that the kernels compile for an H100, and keep their variables in registers.
int compile_only(const std::vector<std::string>& precisions, int64_t batch, const std::regex& filter) {
  const gpu::Chip chip;
  int failures = 0;
  for (const std::string& precision : precisions)
    for (const Named& named : chains_of(precision == "i8" ? gpu::ComputeType::i8 : gpu::ComputeType::f16, batch)) {
      if (!std::regex_search(named.name, filter)) continue;
      for (const auto& variant : gpu::chain_variants(named.chain, chip)) {
        const cuda::KernelResources taken = cuda::resources_of(cuda::compile(variant.launch.source, chip.target()));
        failures += taken.spill_bytes + taken.stack_bytes > 0 ? 1 : 0;
        fmt::print("{} {}: {}: {} registers, {} bytes spilled, stack {}, {} bytes of shared memory\n", named.name, precision, variant.name,
                   taken.registers, taken.spill_bytes, taken.stack_bytes, variant.launch.shared_bytes);
      }
    }
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> precisions{"i8", "f16"};
  int64_t batch = 256;
  std::string filter;
  bool without_gpu = false;
  CLI::App app("Chains of convolutions against their parts");
  app.add_option("--precision", precisions)->delimiter(',');
  app.add_option("--batch", batch);
  app.add_option("--filter", filter);
  app.add_flag("--compile-only", without_gpu);
  CLI11_PARSE(app, argc, argv);
  int failures = 0;
  try {
    if (without_gpu) return compile_only(precisions, batch, std::regex(filter));
    const cuda::DeviceFacts facts = cuda::device_facts(0);
    const cuda::DeviceContext context(0);
    const gpu::Chip chip{facts.architecture(), facts.multiprocessors, facts.shared_bytes};
    const gpu::TunedFile known("", gpu::shipped_winners(facts.name, chip));
    Workshop workshop(chip);
    gpu::Kernels kernels(chip, "");
    fmt::print("{}, {}\n", facts.name, cuda::compiler_description());
    for (const std::string& precision : precisions)
      for (const Named& named : chains_of(precision == "i8" ? gpu::ComputeType::i8 : gpu::ComputeType::f16, batch)) {
        if (!std::regex_search(named.name, std::regex(filter))) continue;
        const auto variants = gpu::chain_variants(named.chain, chip);
        std::vector<const gpu::Launch*> launches;
        for (const auto& variant : variants) launches.push_back(&variant.launch);
        kernels.prepare(launches);
        Trial trial(workshop, kernels, chip, known, named.chain);
        fmt::print("{} {} b{}: parts {:.1f} us; {:.0f} MB\n", named.name, precision, batch, trial.seconds_of_parts() * 1e6,
                   trial.bytes() * 1e-6);
        for (const auto& variant : variants) {
          std::string wrong;
          const double seconds = trial.seconds_of(variant, wrong);
          failures += wrong.find("WRONG") != std::string::npos ? 1 : 0;
          fmt::print("  {}: {:.1f} us, {:.2f} TB/s{}\n", variant.name, seconds * 1e6, trial.bytes() / seconds * 1e-12, wrong);
          std::fflush(stdout);
        }
      }
  } catch (const Error& error) {
    fmt::print("{}\n", error.what());
    return 1;
  }
  return failures == 0 ? 0 : 1;
}
