#include "backends/native/gpu_samples.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace deepgap {
namespace {

// Row blockIdx.y of `to` is row indices[blockIdx.y] of `from`; rows of `units` units.
constexpr const char* gather_text = R"(
extern "C" __global__ void gather(const UNIT* from, const int* indices, UNIT* to, long long units) {
  const UNIT* row = from + indices[blockIdx.y] * units;
  UNIT* target = to + blockIdx.y * units;
  for (long long i = blockIdx.x * 256 + threadIdx.x; i < units; i += gridDim.x * 256) target[i] = row[i];
}
)";
constexpr size_t wide = 16;

gpu::Launch gather_launch(size_t each, size_t count) {
  const bool is_wide = each % wide == 0;
  const auto units = static_cast<int64_t>(is_wide ? each / wide : each);
  gpu::Launch launch;
  launch.entry = "gather";
  launch.source = fmt::format("#define UNIT {}\n{}", is_wide ? "uint4" : "unsigned char", gather_text);
  launch.block = {256, 1, 1};
  launch.grid = {static_cast<unsigned>(std::clamp<int64_t>((units + 1023) / 1024, 1, 256)), static_cast<unsigned>(count), 1};
  launch.arguments = {gpu::BufferArgument{0}, gpu::BufferArgument{1}, gpu::BufferArgument{2}, gpu::NumberArgument{units}};
  return launch;
}

bool are_neighbours(std::span<const uint32_t> samples) {
  for (size_t i = 1; i < samples.size(); ++i)
    if (samples[i] != samples[i - 1] + 1) return false;
  return true;
}

void copy_to_device(cuda::Address to, const std::byte* from, size_t bytes, const cuda::Stream& stream) {
  cuda::check(cuda::driver().cuMemcpyHtoDAsync_v2(to, from, bytes, stream.get()), "copying samples");
}

}  // namespace

GatherSpace::GatherSpace(int64_t largest_batch, size_t size)
    : indices(static_cast<size_t>(largest_batch) * sizeof(int32_t)),
      bytes(size),
      device_indices(static_cast<size_t>(largest_batch) * sizeof(int32_t)) {}

GpuSamples::GpuSamples(std::vector<Port> inputs, GpuSamplePlace place, gpu::Network& network)
    : inputs_(std::move(inputs)), staging_("native", inputs_), place_(place), network_(network) {}

void GpuSamples::stage(std::span<const std::vector<TensorView>> samples, gpu::Instance& instance, const cuda::Stream& stream) {
  staging_.stage(samples);
  count_ = samples.size();
  pinned_.clear();
  resident_.clear();
  each_.assign(inputs_.size(), 0);
  for (size_t i = 0; i < inputs_.size() && count_ > 0; ++i) each_[i] = samples.front()[i].bytes();
  if (place_ == GpuSamplePlace::caller || count_ == 0) return;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    place(i, samples);
    if (place_ == GpuSamplePlace::ready) make_ready(i, instance, stream);
  }
}

void GpuSamples::place(size_t input, std::span<const std::vector<TensorView>> samples) {
  cuda::PinnedMemory pinned(each_[input] * count_);
  for (size_t s = 0; s < count_; ++s) std::memcpy(pinned.data() + s * each_[input], samples[s][input].data, each_[input]);
  if (place_ == GpuSamplePlace::host) {
    pinned_.push_back(std::move(pinned));
    return;
  }
  resident_.emplace_back(pinned.bytes());
  cuda::upload(resident_.back().address(), pinned.data(), each_[input] * count_);
}

// A batch of them at a time goes through what the largest program does with its input first.
void GpuSamples::make_ready(size_t input, gpu::Instance& instance, const cuda::Stream& stream) {
  const gpu::Program& program = network_.programs().rbegin()->second;
  const auto batch = static_cast<size_t>(program.batch);
  const size_t given = each_[input], ready = program.input_bytes(input) / batch;
  if (program.preparations.at(input).empty()) return;
  cuda::DeviceMemory made(ready * count_);
  const cuda::DeviceMemory whole(given * batch);
  for (size_t first = 0; first < count_; first += batch) {
    const size_t count = std::min(batch, count_ - first);
    cuda::check(
        cuda::driver().cuMemcpyDtoDAsync_v2(whole.address(), resident_[input].address() + first * given, count * given, stream.get()),
        "placing the samples");
    instance.prepare(program, input, whole.address(), stream);
    cuda::check(cuda::driver().cuMemcpyDtoDAsync_v2(made.address() + first * ready, instance.input(input), count * ready, stream.get()),
                "placing the samples");
  }
  stream.synchronize();
  resident_[input] = std::move(made);
  each_[input] = ready;
}

void GpuSamples::require(std::span<const uint32_t> samples) const {
  const uint32_t last = samples.empty() ? 0 : *std::max_element(samples.begin(), samples.end());
  if (last >= count_) throw Error(ErrorKind::input, fmt::format("native: sample {} was not staged, {} were", last, count_));
}

void GpuSamples::gather_on_device(size_t input, std::span<const uint32_t> samples, GatherSpace& space, cuda::Address to,
                                  const cuda::Stream& stream) const {
  const size_t each = each_[input];
  const cuda::Address from = resident_[input].address();
  if (are_neighbours(samples)) {
    cuda::check(cuda::driver().cuMemcpyDtoDAsync_v2(to, from + samples[0] * each, samples.size() * each, stream.get()),
                "gathering samples");
    return;
  }
  std::copy(samples.begin(), samples.end(), reinterpret_cast<int32_t*>(space.indices.data()));
  copy_to_device(space.device_indices.address(), space.indices.data(), samples.size() * sizeof(int32_t), stream);
  const gpu::Launch launch = gather_launch(each, samples.size());
  const gpu::BoundLaunch bound(launch, network_.kernels().function(launch), [&](int role) {
    return role == 0 ? from : role == 1 ? space.device_indices.address() : to;
  });
  bound.run(stream.get());
}

void GpuSamples::launch(std::span<const uint32_t> samples, const gpu::Program& program, GatherSpace& space, const gpu::Instance& instance,
                        const cuda::Stream& stream) const {
  require(samples);
  size_t used = 0;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const size_t each = each_[i], bytes = each * samples.size();
    const size_t expected = program.input_bytes(i) / static_cast<size_t>(program.batch) * samples.size();
    if (bytes != expected)
      throw Error(ErrorKind::input, fmt::format("native: {} samples of {} bytes for input '{}', the model takes {} bytes", samples.size(),
                                                each, inputs_[i].name, expected));
    if (each == 0) continue;
    if (place_ == GpuSamplePlace::caller) {
      staging_.gather(i, samples, static_cast<int64_t>(samples.size()), space.bytes.data() + used, bytes);
      copy_to_device(instance.input(i), space.bytes.data() + used, bytes, stream);
      used += bytes;
    } else if (place_ == GpuSamplePlace::host) {
      for (size_t first = 0, next = 0; first < samples.size(); first = next) {
        for (next = first + 1; next < samples.size() && samples[next] == samples[next - 1] + 1;) ++next;
        copy_to_device(instance.input(i) + first * each, pinned_[i].data() + samples[first] * each, (next - first) * each, stream);
      }
    } else {
      gather_on_device(i, samples, space, instance.input(i), stream);
    }
  }
}

size_t GpuSamples::device_bytes() const {
  return std::accumulate(resident_.begin(), resident_.end(), size_t{0},
                         [](size_t sum, const auto& memory) { return sum + memory.bytes(); });
}

}  // namespace deepgap
