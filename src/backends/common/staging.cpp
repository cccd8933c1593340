#include "backends/common/staging.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace deepgap {

void Staging::stage(std::span<const std::vector<TensorView>> samples) {
  staged_.clear();
  sample_bytes_.assign(inputs_.size(), 0);
  for (const std::vector<TensorView>& sample : samples) {
    if (sample.size() != inputs_.size()) {
      throw Error(ErrorKind::input, fmt::format("a sample has {} tensors, the model {} inputs", sample.size(), inputs_.size()));
    }
    for (size_t i = 0; i < sample.size(); ++i) stage_tensor(i, sample[i]);
  }
}

void Staging::stage_tensor(size_t input, const TensorView& tensor) {
  const Port& port = inputs_[input];
  if (tensor.type != port.type) {
    throw Error(ErrorKind::input,
                fmt::format("a sample for input '{}' is {}, the model takes {}", port.name, name_of(tensor.type), name_of(port.type)));
  }
  if (staged_.size() < inputs_.size()) sample_bytes_[input] = tensor.bytes();
  if (tensor.bytes() != sample_bytes_[input]) {
    throw Error(ErrorKind::input,
                fmt::format("samples for input '{}' differ in size: {} and {} bytes", port.name, sample_bytes_[input], tensor.bytes()));
  }
  staged_.push_back(tensor.data);
}

void Staging::expect_size(size_t input, int64_t batch, size_t bytes) const {
  const size_t each = sample_bytes_.empty() ? 0 : sample_bytes_[input];
  if (each * static_cast<size_t>(batch) == bytes) return;
  throw Error(ErrorKind::input, fmt::format("{}: {} samples of {} bytes for input '{}', the model takes {} bytes", engine_, batch, each,
                                            inputs_[input].name, bytes));
}

const std::byte* Staging::at(size_t input, uint32_t sample) const {
  const size_t position = sample * inputs_.size() + input;
  if (position < staged_.size()) return staged_[position];
  throw Error(ErrorKind::input,
              fmt::format("{}: sample {} was not staged, {} were", engine_, sample, staged_.size() / std::max<size_t>(inputs_.size(), 1)));
}

void Staging::gather(size_t input, std::span<const uint32_t> samples, int64_t batch, std::byte* to, size_t bytes) const {
  expect_size(input, batch, bytes);
  const size_t each = sample_bytes_[input];
  for (size_t i = 0; i < static_cast<size_t>(batch); ++i) {
    std::memcpy(to + i * each, at(input, samples[std::min(i, samples.size() - 1)]), each);
  }
}

const std::byte* Staging::adjacent_or_gathered(size_t input, std::span<const uint32_t> samples, int64_t batch, std::byte* to,
                                               size_t bytes) const {
  expect_size(input, batch, bytes);
  const size_t each = sample_bytes_[input];
  bool adjacent = samples.size() == static_cast<size_t>(batch);
  for (size_t i = 1; i < samples.size() && adjacent; ++i) adjacent = at(input, samples[i]) == at(input, samples[i - 1]) + each;
  if (adjacent) return at(input, samples[0]);
  gather(input, samples, batch, to, bytes);
  return to;
}

}  // namespace deepgap
