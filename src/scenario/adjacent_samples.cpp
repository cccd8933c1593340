#include "scenario/adjacent_samples.h"

#include <algorithm>
#include <cstring>

namespace deepgap {
namespace {

bool same_shapes(std::span<const std::vector<TensorView>> samples) {
  return std::all_of(samples.begin(), samples.end(), [&](const std::vector<TensorView>& sample) {
    return std::equal(sample.begin(), sample.end(), samples.front().begin(), samples.front().end(), [](const auto& a, const auto& b) {
      return a.type == b.type && std::equal(a.shape.begin(), a.shape.end(), b.shape.begin(), b.shape.end());
    });
  });
}

size_t bytes_of(const std::vector<TensorView>& sample) {
  size_t bytes = 0;
  for (const TensorView& input : sample) bytes += input.bytes();
  return bytes;
}

constexpr size_t most_bytes = size_t{1} << 30;

}  // namespace

AdjacentSamples::AdjacentSamples(std::span<const std::vector<TensorView>> samples, int64_t batch) {
  const size_t count = samples.size() + static_cast<size_t>(batch) - 1;
  if (samples.empty() || !same_shapes(samples) || count > most_bytes / std::max<size_t>(bytes_of(samples.front()), 1)) return;
  views_.resize(count);
  for (size_t input = 0; input < samples.front().size(); ++input) {
    const TensorView& like = samples.front()[input];
    shapes_.emplace_back(like.shape.begin(), like.shape.end());
    const size_t each = like.bytes();
    blocks_.push_back(make_tensor(DataType::u8, {static_cast<int64_t>(each * views_.size())}));
    std::byte* block = writable<std::byte>(blocks_.back()).data();
    for (size_t i = 0; i < views_.size(); ++i) std::memcpy(block + i * each, samples[i % samples.size()][input].data, each);
  }
  for (size_t i = 0; i < views_.size(); ++i)
    for (size_t input = 0; input < blocks_.size(); ++input)
      views_[i].push_back({samples.front()[input].type, shapes_[input], blocks_[input].data.get() + i * samples.front()[input].bytes()});
}

void follow_neighbours(std::span<uint32_t> positions, size_t cycle, size_t staged) {
  for (size_t i = 1; i < positions.size(); ++i) {
    const uint32_t next = positions[i - 1] + 1;
    if (next < staged && next % cycle == positions[i]) positions[i] = next;
  }
}

}  // namespace deepgap
