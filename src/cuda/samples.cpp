#include "cuda/samples.h"

#include "cuda/compiler.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace deepgap::cuda {
namespace {

constexpr unsigned threads = 256;
constexpr size_t alignment = 16;     // kernels read 16 bytes at once
constexpr size_t most_pieces = 256;  // blocks that share a row
// Bytes up to which a kernel brings neighbours sooner than the driver's copy does.
constexpr size_t most_by_kernel = size_t{4} << 20;

bool are_neighbours(std::span<const uint32_t> samples) {
  for (size_t i = 1; i < samples.size(); ++i)
    if (samples[i] != samples[i - 1] + 1) return false;
  return true;
}

void copy_to_device(Address to, const std::byte* from, size_t bytes, StreamHandle stream) {
  check(driver().cuMemcpyHtoDAsync_v2(to, from, bytes, stream), "copying samples");
}

}  // namespace

const char* GatherKernel::text() {
  return R"(
template <typename Unit>
__device__ void gather(const Unit* from, const int* indices, Unit* to, long long units) {
  const Unit* row = from + (indices ? indices[blockIdx.x] : (int)blockIdx.x) * units;
  Unit* target = to + blockIdx.x * units;
  for (long long i = blockIdx.y * blockDim.x + threadIdx.x; i < units; i += gridDim.y * blockDim.x) target[i] = row[i];
}
extern "C" __global__ void gather_16(const uint4* from, const int* indices, uint4* to, long long units) { gather(from, indices, to, units); }
extern "C" __global__ void gather_4(const unsigned* from, const int* indices, unsigned* to, long long units) { gather(from, indices, to, units); }
extern "C" __global__ void gather_1(const unsigned char* from, const int* indices, unsigned char* to, long long units) {
  gather(from, indices, to, units);
}
)";
}

GatherKernel::GatherKernel(int architecture) : module_(compile(text(), fmt::format("sm_{}", architecture)).cubin) {
  for (const size_t bytes : {16, 4, 1}) widths_.push_back({bytes, module_.function(fmt::format("gather_{}", bytes), 0)});
}

void GatherKernel::launch(Address from, Address indices, Address to, size_t each, size_t count, StreamHandle stream) const {
  const Width& width = *std::find_if(widths_.begin(), widths_.end(), [&](const Width& w) { return each % w.bytes == 0; });
  auto units = static_cast<long long>(each / width.bytes);
  LaunchConfig config{};
  config.grid_x = static_cast<unsigned>(count);
  config.grid_y = static_cast<unsigned>(std::clamp<size_t>(each / width.bytes / threads, 1, most_pieces));
  config.grid_z = config.block_y = config.block_z = 1;
  config.block_x = threads;
  config.stream = stream;
  std::array<void*, 4> arguments{&from, &indices, &to, &units};
  check(driver().cuLaunchKernelEx(&config, width.function, arguments.data(), nullptr), "gathering samples");
}

void CopyList::reserve(size_t count) {
  to_.reserve(count);
  from_.reserve(count);
  bytes_.reserve(count);
}

void CopyList::add(Address to, const std::byte* from, size_t bytes) {
  to_.push_back(to);
  from_.push_back(reinterpret_cast<Address>(from));
  bytes_.push_back(bytes);
}

void CopyList::queue(StreamHandle stream) {
  if (to_.size() > 1 && stream != nullptr && driver().cuMemcpyBatchAsync_v2 != nullptr) {
    queue_together(stream);
  } else {
    for (size_t i = 0; i < to_.size(); ++i) copy_to_device(to_[i], reinterpret_cast<const std::byte*>(from_[i]), bytes_[i], stream);
  }
  to_.clear();
  from_.clear();
  bytes_.clear();
}

void CopyList::queue_together(StreamHandle stream) {
  CopyAttributes attributes{};
  attributes.source_order = source_in_stream_order;
  size_t first = 0;
  check(driver().cuMemcpyBatchAsync_v2(to_.data(), from_.data(), bytes_.data(), to_.size(), &attributes, &first, 1, stream),
        "copying samples");
}

GatherSpace::GatherSpace(SamplePlace place, int64_t largest_batch, size_t input_bytes) {
  const size_t index_bytes = static_cast<size_t>(largest_batch) * sizeof(int32_t);
  if (place == SamplePlace::caller) bytes_ = PinnedMemory(input_bytes);
  copies_.reserve(static_cast<size_t>(largest_batch));
  if (!lies_on_device(place)) return;
  indices_ = PinnedMemory(index_bytes);
  device_indices_ = DeviceMemory(index_bytes);
}

Samples::Samples(std::string engine, std::vector<std::string> inputs, SamplePlace place, int architecture)
    : engine_(std::move(engine)), inputs_(std::move(inputs)), place_(place) {
  if (lies_on_device(place)) gather_.emplace(architecture);
}

void Samples::stage(std::span<const std::vector<TensorView>> samples, const Prepare& prepare) {
  count_ = samples.size();
  pinned_.clear();
  resident_.clear();
  given_.clear();
  each_.assign(inputs_.size(), 0);
  if (count_ == 0) return;
  for (size_t i = 0; i < inputs_.size(); ++i) each_[i] = samples.front()[i].bytes();
  if (place_ == SamplePlace::caller) {
    for (const auto& sample : samples)
      for (const TensorView& tensor : sample) given_.push_back(tensor.data);
    return;
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    PinnedMemory pinned(each_[i] * count_);
    for (size_t s = 0; s < count_; ++s)
      if (each_[i] > 0) std::memcpy(pinned.data() + s * each_[i], samples[s][i].data, each_[i]);
    place(std::move(pinned), i, prepare);
  }
}

// `pinned`: all samples of the input, one behind another.
void Samples::place(PinnedMemory pinned, size_t input, const Prepare& prepare) {
  if (lies_on_device(place_) || is_ready(place_)) {
    DeviceMemory resident(pinned.bytes());
    upload(resident.address(), pinned.data(), each_[input] * count_);
    if (is_ready(place_) && each_[input] > 0)
      if (auto ready = prepare(input, resident.address(), count_)) {
        resident = std::move(*ready);
        each_[input] = resident.bytes() / count_;
      }
    if (lies_on_device(place_)) {
      resident_.push_back(std::move(resident));
      return;
    }
    pinned = PinnedMemory(resident.bytes());
    check(driver().cuMemcpyDtoH_v2(pinned.data(), resident.address(), each_[input] * count_), "reading samples back");
  }
  pinned_.push_back(std::move(pinned));
}

void Samples::require(std::span<const uint32_t> samples, std::span<const Input> inputs) const {
  const uint32_t most = samples.empty() ? 0 : *std::max_element(samples.begin(), samples.end());
  if (most >= count_) throw Error(ErrorKind::input, fmt::format("{}: sample {} was not staged, {} were", engine_, most, count_));
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (each_[i] * samples.size() != inputs[i].bytes)
      throw Error(ErrorKind::input, fmt::format("{}: {} samples of {} bytes for input '{}', the model takes {} bytes", engine_,
                                                samples.size(), each_[i], inputs_[i], inputs[i].bytes));
}

Address Samples::lying(std::span<const uint32_t> samples, size_t input, size_t bytes) const {
  if (!lies_on_device(place_) || samples.empty() || !are_neighbours(samples)) return 0;
  const size_t begin = samples[0] * each_[input];
  const bool fits = bytes > 0 && each_[input] * samples.size() <= bytes && begin + bytes <= each_[input] * count_;
  return fits && begin % alignment == 0 ? resident_[input].address() + begin : 0;
}

void Samples::launch(std::span<const uint32_t> samples, std::span<const Input> inputs, GatherSpace& space, StreamHandle stream) const {
  require(samples, inputs);
  if (place_ == SamplePlace::caller) return copy_gathered(samples, inputs, space, stream);
  if (lies_on_device(place_)) return gather_on_device(samples, inputs, space, stream);
  copy_runs(samples, inputs, space, stream);
}

// Neighbours in one copy.
void Samples::copy_runs(std::span<const uint32_t> samples, std::span<const Input> inputs, GatherSpace& space, StreamHandle stream) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const size_t each = each_[i];
    for (size_t first = 0, next = 0; each > 0 && first < samples.size(); first = next) {
      for (next = first + 1; next < samples.size() && samples[next] == samples[next - 1] + 1;) ++next;
      space.copies_.add(inputs[i].to + first * each, pinned_[i].data() + samples[first] * each, (next - first) * each);
    }
  }
  space.copies_.queue(stream);
}

void Samples::copy_gathered(std::span<const uint32_t> samples, std::span<const Input> inputs, GatherSpace& space,
                            StreamHandle stream) const {
  std::byte* gathered = space.bytes_.data();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const size_t each = each_[i];
    if (each == 0) continue;
    for (size_t s = 0; s < samples.size(); ++s) std::memcpy(gathered + s * each, given_[samples[s] * inputs_.size() + i], each);
    copy_to_device(inputs[i].to, gathered, inputs[i].bytes, stream);
    gathered += inputs[i].bytes;
  }
}

void Samples::gather_on_device(std::span<const uint32_t> samples, std::span<const Input> inputs, GatherSpace& space,
                               StreamHandle stream) const {
  if (std::all_of(inputs.begin(), inputs.end(), [](const Input& input) { return input.to == 0; })) return;
  const bool neighbours = are_neighbours(samples);
  if (!neighbours) {
    std::copy(samples.begin(), samples.end(), reinterpret_cast<int32_t*>(space.indices_.data()));
    copy_to_device(space.device_indices_.address(), space.indices_.data(), samples.size() * sizeof(int32_t), stream);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const size_t each = each_[i];
    const Address from = resident_[i].address();
    if (each == 0 || inputs[i].to == 0) continue;
    if (neighbours && inputs[i].bytes <= most_by_kernel) {
      gather_->launch(from + samples[0] * each, 0, inputs[i].to, each, samples.size(), stream);
    } else if (neighbours) {
      check(driver().cuMemcpyDtoDAsync_v2(inputs[i].to, from + samples[0] * each, inputs[i].bytes, stream), "gathering samples");
    } else {
      gather_->launch(from, space.device_indices_.address(), inputs[i].to, each, samples.size(), stream);
    }
  }
}

}  // namespace deepgap::cuda
