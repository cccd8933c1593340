#include "backends/openvino/ov_staging.h"

#include <fmt/format.h>

#include <cstring>

namespace deepgap {

void OvStaging::stage(std::span<const std::vector<TensorView>> inputs) {
  staged_.clear();
  sample_bytes_.assign(ports_.size(), 0);
  for (const std::vector<TensorView>& sample : inputs) {
    if (sample.size() != ports_.size()) {
      throw Error(ErrorKind::input, fmt::format("a sample has {} tensors, the model {} inputs", sample.size(), ports_.size()));
    }
    for (size_t i = 0; i < sample.size(); ++i) stage_tensor(i, sample[i]);
  }
}

void OvStaging::stage_tensor(size_t input, const TensorView& tensor) {
  const OvPort& port = ports_[input];
  if (tensor.type != port.type) {
    throw Error(ErrorKind::input,
                fmt::format("a sample for input '{}' is {}, the model takes {}", port.name, name_of(tensor.type), name_of(port.type)));
  }
  if (staged_.size() < ports_.size()) sample_bytes_[input] = tensor.bytes();
  if (tensor.bytes() != sample_bytes_[input]) {
    throw Error(ErrorKind::input,
                fmt::format("samples for input '{}' differ in size: {} and {} bytes", port.name, sample_bytes_[input], tensor.bytes()));
  }
  staged_.push_back(tensor.data);
}

void OvStaging::gather(size_t input, std::span<const uint32_t> samples, int64_t batch, std::byte* to, size_t bytes) const {
  const size_t each = sample_bytes_.empty() ? 0 : sample_bytes_[input];
  if (each * static_cast<size_t>(batch) != bytes) {
    throw Error(ErrorKind::input, fmt::format("openvino: {} samples of {} bytes for input '{}', the model takes {} bytes", batch, each,
                                              ports_[input].name, bytes));
  }
  for (size_t i = 0; i < static_cast<size_t>(batch); ++i) {
    const uint32_t sample = samples[std::min(i, samples.size() - 1)];
    std::memcpy(to + i * each, staged_.at(sample * ports_.size() + input), each);
  }
}

}  // namespace deepgap
