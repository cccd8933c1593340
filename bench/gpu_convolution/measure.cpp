#include "measure.h"

#include "cuda/compiler.h"
#include "engine/gpu/kernel_text.h"
#include "host_reference.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace deepgap::bench {
namespace {

constexpr int64_t macs_of_reference = 300'000'000, macs_on_host = 3'000'000;
constexpr size_t most_sets = 32;
constexpr double seconds_of_a_round = 0.6e-3;
constexpr size_t most_rounds = 3;

size_t bytes_of(const gpu::Convolution& p, bool target) {
  const int64_t elements = target ? p.batch * p.out_h * p.out_w * p.out_pitch : p.batch * p.in_h * p.in_w * p.in_pitch;
  return static_cast<size_t>(elements) * gpu::byte_size(target ? p.epilogue.target : p.source);
}

struct Limits {
  double relative, largest;
};
// `largest` of floats counts in root mean squares, of bytes in quanta.
Limits limits_of(const gpu::Convolution& p) {
  if (p.epilogue.target == gpu::Element::e4m3) return {0.02, 1};  // some are rounded to a neighbour
  if (gpu::byte_size(p.epilogue.target) == 1) return {0.01, 1};
  if (p.epilogue.target == gpu::Element::bf16) return {1e-2, 0.1};
  if (p.epilogue.target == gpu::Element::f16 || p.compute == gpu::ComputeType::f16) return {2e-3, 2e-2};
  return p.compute == gpu::ComputeType::tf32 ? Limits{2e-3, 2e-2} : Limits{2e-6, 2e-4};
}

std::string judged(const gpu::Convolution& p, const Difference& found) {
  const Limits limits = limits_of(p);
  if (found.wrong > 0) return fmt::format("{} elements are no numbers", found.wrong);
  if (!(found.relative <= limits.relative) || !(found.largest <= limits.largest))
    return fmt::format("differs: {:.3g} of the reference's size, {:.3g} at most", found.relative, found.largest);
  return {};
}

void copy_to(cuda::Address to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  cuda::check(cuda::driver().cuMemcpyHtoD_v2(to, from, bytes), "copying to the device");
  cuda::check(cuda::driver().cuCtxSynchronize(), "copying to the device");  // it returns when the bytes are staged, not when they are there
}
std::vector<std::byte> copied_from(cuda::Address from, size_t bytes) {
  std::vector<std::byte> host(bytes);
  if (bytes > 0) cuda::check(cuda::driver().cuMemcpyDtoH_v2(host.data(), from, bytes), "copying from the device");
  return host;
}

}  // namespace

struct ProblemOnDevice::Loaded {
  const gpu::ConvolutionVariant* variant = nullptr;
  std::vector<cuda::Module> modules;
  std::vector<cuda::Function> functions;
  cuda::DeviceMemory weights, scale_bias, workspace;
  size_t weight_bytes = 0, weight_sets = 1;

  void run(const gpu::AddressOf& address, cuda::StreamHandle stream) const {
    for (size_t i = 0; i < functions.size(); i++) gpu::BoundLaunch(variant->launches[i], functions[i], address).run(stream);
  }
};

gpu::Convolution reference_of(const gpu::Convolution& problem) {
  gpu::Convolution window = problem;
  const int64_t each = std::max<int64_t>(1, problem.macs() / problem.batch);
  window.batch = std::clamp<int64_t>(macs_of_reference / each, 1, problem.batch);
  return window;
}

Prepared prepare(const gpu::Convolution& problem, const gpu::ConvolutionVariant& variant, const Tensor& weights, const gpu::Chip& chip) {
  Prepared prepared;
  prepared.variant = variant;
  try {
    for (const gpu::Launch& launch : variant.launches) {
      prepared.cubins.emplace_back();
      if (launch.library) continue;
      const cuda::Compiled compiled = cuda::compile(launch.source, chip.target());
      if (cuda::resources_of(compiled).spill_bytes > 0) prepared.failure = "spills";
      prepared.cubins.back() = compiled.cubin;
    }
    if (weights.data != nullptr) prepared.weights = variant.pack(problem, variant, weights);
    if (weights.data != nullptr && prepared.weights.size() != variant.packed_bytes) prepared.failure = "packs other than it says";
  } catch (const Error& error) {
    prepared.failure = error.what();
  }
  return prepared;
}

Tensor random_weights(const gpu::Convolution& p) {
  const bool bytes = p.compute == gpu::ComputeType::i8;
  Tensor weights = make_tensor(bytes ? DataType::i8 : DataType::f32, {p.out_channels, p.in_channels / p.groups, p.kernel_h, p.kernel_w});
  std::minstd_rand random(7);
  const auto size = static_cast<float>(std::sqrt(3.0 / static_cast<double>(gpu::products_per_sum(p))));
  const auto unit = [&] { return static_cast<float>(static_cast<double>(random()) / 1073741823.5 - 1); };
  if (bytes)
    for (int8_t& w : writable<int8_t>(weights)) w = static_cast<int8_t>(std::lround(unit() * 127));
  else
    for (float& w : writable<float>(weights)) w = unit() * size;
  return weights;
}

std::vector<float> random_scale_bias(const gpu::Convolution& p, const Tensor& weights) {
  const auto pitch = static_cast<size_t>(p.out_pitch);
  std::vector<float> values(2 * pitch, 0.0f);
  std::minstd_rand random(11);
  const double scale = 1 / (73.0 * 73 * std::sqrt(static_cast<double>(gpu::products_per_sum(p))));
  const size_t each = weights.bytes() / static_cast<size_t>(p.out_channels);
  for (size_t channel = 0; channel < static_cast<size_t>(p.out_channels); channel++) {
    const double unit = static_cast<double>(random()) / 2147483646.0;
    values[channel] = p.compute == gpu::ComputeType::i8 ? static_cast<float>(scale * (0.5 + unit)) : 1.0f;
    double sum = 0;
    if (p.source_zero != 0)
      for (size_t i = 0; i < each; i++) sum += weights.as<int8_t>()[channel * each + i];
    values[pitch + channel] = static_cast<float>(unit - 0.5 - p.source_zero * sum * static_cast<double>(values[channel]));
  }
  return values;
}

ProblemOnDevice::ProblemOnDevice(Workshop& workshop, const NamedProblem& named, const Prepared& direct, const Tensor& weights,
                                 size_t rotating_bytes)
    : workshop_(workshop),
      named_(named),
      window_(reference_of(named.problem).batch),
      source_bytes_(bytes_of(named.problem, false)),
      target_bytes_(bytes_of(named.problem, true)),
      scale_bias_values_(random_scale_bias(named.problem, weights)) {
  if (problem().epilogue.has_residual())
    residual_bytes_ = target_bytes_ / gpu::byte_size(problem().epilogue.target) * gpu::byte_size(problem().epilogue.residual);
  reference_bytes_ = image_bytes(target_bytes_) * static_cast<size_t>(window_);
  sets_ = std::clamp<size_t>(rotating_bytes / static_cast<size_t>(bytes()), 2, most_sets);
  source_ = cuda::DeviceMemory(source_bytes_ * sets_);
  target_ = cuda::DeviceMemory(target_bytes_ * sets_);
  residual_ = cuda::DeviceMemory(residual_bytes_ * sets_);
  reference_ = cuda::DeviceMemory(reference_bytes_ * 2);
  workshop_.fill(source_.address(), static_cast<int64_t>(source_.bytes() / gpu::byte_size(problem().source)), problem().source, 1);
  if (residual_bytes_ > 0)
    workshop_.fill(residual_.address(), static_cast<int64_t>(residual_.bytes() / gpu::byte_size(problem().epilogue.residual)),
                   problem().epilogue.residual, 2);
  run_reference(direct, 0, reference_.address());
  run_reference(direct, problem().batch - window_, reference_.address() + reference_bytes_);
}

gpu::AddressOf ProblemOnDevice::addresses(size_t set, cuda::Address target, const Loaded& loaded) const {
  return [this, set, target, &loaded](int role) -> cuda::Address {
    switch (role) {
      case gpu::role_source:
        return source_.address() + set * source_bytes_;
      case gpu::role_weights:
        return loaded.weights.address() + set % loaded.weight_sets * loaded.weight_bytes;
      case gpu::role_scale_bias:
        return loaded.scale_bias.address();
      case gpu::role_residual:
        return residual_.address() + set * residual_bytes_;
      case gpu::role_target:
        return target;
      default:
        return loaded.workspace.address();
    }
  };
}

ProblemOnDevice::Loaded ProblemOnDevice::load(const Prepared& prepared, size_t sets) const {
  if (!prepared.failure.empty()) throw Error(ErrorKind::internal, prepared.failure);
  Loaded loaded;
  loaded.variant = &prepared.variant;
  for (size_t i = 0; i < prepared.cubins.size(); i++) {
    const gpu::Launch& launch = prepared.variant.launches[i];
    if (launch.library) {
      loaded.functions.push_back(nullptr);
      continue;
    }
    loaded.modules.emplace_back(prepared.cubins[i]);
    loaded.functions.push_back(loaded.modules.back().function(launch.entry, launch.shared_bytes));
  }
  loaded.weight_bytes = (prepared.weights.size() + 255) / 256 * 256;
  loaded.weight_sets = sets;
  loaded.weights = cuda::DeviceMemory(loaded.weight_bytes * sets);
  for (size_t set = 0; set < sets; set++)
    copy_to(loaded.weights.address() + set * loaded.weight_bytes, prepared.weights.data(), prepared.weights.size());
  loaded.workspace = cuda::DeviceMemory(prepared.variant.workspace_bytes);
  const std::vector<std::byte> scale_bias = prepared.variant.packed_scale_bias(problem(), scale_bias_values_);
  loaded.scale_bias = cuda::DeviceMemory(scale_bias.size());
  copy_to(loaded.scale_bias.address(), scale_bias.data(), scale_bias.size());
  return loaded;
}

void ProblemOnDevice::run_reference(const Prepared& direct, int64_t first_image, cuda::Address to) {
  const Loaded loaded = load(direct, 1);
  const auto image = static_cast<size_t>(first_image);
  const gpu::AddressOf whole = addresses(0, to, loaded);
  loaded.run(
      [&](int role) {
        if (role == gpu::role_source) return whole(role) + image * image_bytes(source_bytes_);
        if (role == gpu::role_residual) return whole(role) + image * image_bytes(residual_bytes_);
        return whole(role);
      },
      workshop_.stream().get());
  workshop_.stream().synchronize();
}

void ProblemOnDevice::run_poisoned(const Loaded& loaded, cuda::Address target, unsigned char poison) {
  cuda::check(cuda::driver().cuMemsetD8Async(target, poison, target_bytes_, workshop_.stream().get()), "poisoning the target");
  workshop_.stream().synchronize();
  loaded.run(addresses(0, target, loaded), workshop_.stream().get());
  workshop_.stream().synchronize();
}

std::string ProblemOnDevice::check(const Prepared& prepared, Difference& difference) {
  const Loaded loaded = load(prepared, 1);
  const cuda::Address first = target_.address(), second = first + target_bytes_;
  run_poisoned(loaded, first, 0xff);
  run_poisoned(loaded, second, 0xaa);
  const int64_t changed = workshop_.different_bytes(first, second, static_cast<int64_t>(target_bytes_));
  if (changed > 0) return fmt::format("{} of {} bytes are not written, or other in another run", changed, target_bytes_);
  const int64_t pixels = window_ * problem().out_h * problem().out_w;
  for (const size_t window : {size_t{0}, size_t{1}}) {
    const cuda::Address at = first + (window == 0 ? 0 : target_bytes_ - reference_bytes_);
    const Difference found = workshop_.compare(at, reference_.address() + window * reference_bytes_, pixels, problem().out_channels,
                                               problem().out_pitch, problem().epilogue.target);
    difference = {std::max(difference.relative, found.relative), std::max(difference.largest, found.largest),
                  difference.wrong + found.wrong};
  }
  return judged(problem(), difference);
}

std::string ProblemOnDevice::check_reference(const Tensor& weights, Difference& difference) {
  NamedProblem window = named_;
  window.problem = reference_of(problem());
  if (window.problem.macs() > macs_on_host) return {};
  const auto images = static_cast<size_t>(window_);
  const std::vector<double> right = convolved(window, copied_from(source_.address(), image_bytes(source_bytes_) * images), weights,
                                              scale_bias_values_, copied_from(residual_.address(), image_bytes(residual_bytes_) * images));
  const std::vector<std::byte> found = copied_from(reference_.address(), reference_bytes_);
  double squares = 0, right_squares = 0;
  for (size_t i = 0; i < right.size(); i++) {
    const auto index = static_cast<int64_t>(i);
    const int64_t at = index / problem().out_channels * problem().out_pitch + index % problem().out_channels;
    const double off = element(found, at, problem().epilogue.target) - right[i];
    squares += off * off;
    right_squares += right[i] * right[i];
    difference.largest = std::max(difference.largest, std::abs(off));
  }
  difference.relative = right_squares > 0 ? std::sqrt(squares / right_squares) : std::sqrt(squares);
  if (gpu::byte_size(problem().epilogue.target) > 1 && right_squares > 0)
    difference.largest /= std::sqrt(right_squares / static_cast<double>(right.size()));
  const std::string wrong = judged(problem(), difference);
  return wrong.empty() ? wrong : "direct against the host: " + wrong;
}

double ProblemOnDevice::seconds(const Prepared& prepared) {
  const Loaded loaded = load(prepared, prepared.weights.size() * sets_ < (size_t{256} << 20) ? sets_ : 1);
  std::vector<std::vector<gpu::BoundLaunch>> by_set(sets_);
  for (size_t set = 0; set < sets_; set++)
    for (size_t i = 0; i < loaded.functions.size(); i++)
      by_set[set].emplace_back(prepared.variant.launches[i], loaded.functions[i],
                               addresses(set, target_.address() + set * target_bytes_, loaded));
  const cuda::Stream& stream = workshop_.stream();
  const auto time = [&](size_t count, size_t rounds) {
    const cuda::CudaGraph graph = cuda::CudaGraph::record(stream, [&] {
      for (size_t i = 0; i < count; i++)
        for (const gpu::BoundLaunch& launch : by_set[i % sets_]) launch.run(stream.get());
    });
    cuda::Event begin, end;
    std::vector<double> times;
    for (size_t round = 0; round <= rounds; round++) {
      begin.record(stream);
      graph.launch(stream);
      end.record(stream);
      end.synchronize();
      if (round > 0) times.push_back(static_cast<double>(end.since_ns(begin)) * 1e-9 / static_cast<double>(count));
    }
    std::nth_element(times.begin(), times.begin() + static_cast<ptrdiff_t>(rounds / 2), times.end());
    return times[rounds / 2];
  };
  const double rough = time(4, 1);
  return time(std::clamp<size_t>(static_cast<size_t>(seconds_of_a_round / rough), 4, 100), most_rounds);
}

double ProblemOnDevice::bytes() const {
  const int64_t weights = problem().out_channels * gpu::products_per_sum(problem());
  return static_cast<double>(source_bytes_ + target_bytes_ + residual_bytes_) +
         static_cast<double>(weights) * static_cast<double>(gpu::operand_bytes(problem().compute));
}

}  // namespace deepgap::bench
