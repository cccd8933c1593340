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

void Staging::gather(size_t input, std::span<const uint32_t> samples, int64_t batch, std::byte* to, size_t bytes) const {
  const size_t each = sample_bytes_.empty() ? 0 : sample_bytes_[input];
  if (each * static_cast<size_t>(batch) != bytes) {
    throw Error(ErrorKind::input, fmt::format("{}: {} samples of {} bytes for input '{}', the model takes {} bytes", engine_, batch, each,
                                              inputs_[input].name, bytes));
  }
  for (size_t i = 0; i < static_cast<size_t>(batch); ++i) {
    const uint32_t sample = samples[std::min(i, samples.size() - 1)];
    const size_t position = sample * inputs_.size() + input;
    if (position >= staged_.size()) {
      throw Error(ErrorKind::input, fmt::format("{}: sample {} was not staged, {} were", engine_, sample,
                                                staged_.size() / std::max<size_t>(inputs_.size(), 1)));
    }
    std::memcpy(to + i * each, staged_[position], each);
  }
}

}  // namespace deepgap
