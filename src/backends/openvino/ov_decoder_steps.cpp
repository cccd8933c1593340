#include "backends/openvino/ov_decoder_steps.h"

#include "backends/openvino/ov_failure.h"
#include "backends/openvino/ov_network.h"

#include <openvino/runtime/exception.hpp>

#include <set>
#include <utility>

namespace deepgap {

OvDecoderSteps::OvDecoderSteps(OnnxDecoder file, ov::CompiledModel compiled, int64_t weight_bytes,
                               std::map<std::string, double> type_shares)
    : PastValueSteps("openvino", std::move(file), weight_bytes, std::move(type_shares)),
      compiled_(std::move(compiled)),
      request_(compiled_.create_infer_request()) {
  std::set<std::string> read;
  for (const auto& input : compiled_.inputs()) read.insert(input.get_names().begin(), input.get_names().end());
  for (const std::string& name : input_names()) is_read_.push_back(read.contains(name));
}

// The library takes constant data for inputs by a pointer that is not; it does not write there.
ov::Tensor OvDecoderSteps::value_over(const void* data, DataType type, const Shape& shape) {
  return {ov_element(type), ov::Shape(shape.begin(), shape.end()), const_cast<void*>(data)};
}

// Each run's keys and values get memory of their own: that of the request is written by the next run, which reads them.
std::vector<ov::Tensor> OvDecoderSteps::compute(std::span<ov::Tensor* const> inputs, int64_t length) {
  try {
    for (size_t i = 0; i < inputs.size(); ++i)
      if (is_read_[i]) request_.set_tensor(input_names()[i], *inputs[i]);
    for (const CachePort& port : decoder().caches) {
      const ov::Shape shape{1, static_cast<size_t>(port.heads), static_cast<size_t>(length), static_cast<size_t>(port.size)};
      request_.set_tensor(port.present, ov::Tensor(ov_element(port.type), shape));
    }
    request_.infer();
    std::vector<ov::Tensor> outputs{request_.get_tensor("logits")};
    for (const CachePort& port : decoder().caches) outputs.push_back(request_.get_tensor(port.present));
    return outputs;
  } catch (const ov::Exception& failure) {
    throw ov_run_error(failure.what());
  }
}

TensorView OvDecoderSteps::content(ov::Tensor& value, const std::string& output, DataType type, Shape& shape) {
  if (value.get_element_type() != ov_element(type)) throw Error(ErrorKind::input, "openvino: output '" + output + "' has another type");
  const ov::Shape sizes = value.get_shape();
  shape.assign(sizes.begin(), sizes.end());
  return {type, shape, static_cast<const std::byte*>(std::as_const(value).data())};
}

}  // namespace deepgap
