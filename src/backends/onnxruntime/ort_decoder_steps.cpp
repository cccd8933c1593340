#include "backends/onnxruntime/ort_decoder_steps.h"

#include "backends/onnxruntime/ort_failure.h"
#include "backends/onnxruntime/ort_values.h"

#include <utility>

namespace deepgap {
namespace {

template <typename Work>
auto as_error(Work work) {
  try {
    return work();
  } catch (const OrtFailure& failure) {
    throw run_error(failure);
  }
}

}  // namespace

OrtDecoderSteps::OrtDecoderSteps(OnnxDecoder file, OrtSessionHandle session, int64_t weight_bytes,
                                 std::map<std::string, double> type_shares)
    : PastValueSteps("onnxruntime", std::move(file), weight_bytes, std::move(type_shares)), session_(std::move(session)) {
  OrtMemoryInfo* info = nullptr;
  ort().call(ort_create_cpu_memory_info, ort_arena_allocator, ort_memory_default, &info);
  memory_.reset(info);
  for (const std::string& name : input_names()) inputs_.push_back(name.c_str());
  outputs_ = {"logits"};
  for (const CachePort& port : decoder().caches) outputs_.push_back(port.present.c_str());
}

OrtValueHandle OrtDecoderSteps::value_over(const void* data, DataType type, const Shape& shape) {
  return as_error([&] { return ort_value_over(memory_.get(), data, type, shape); });
}

std::vector<OrtValueHandle> OrtDecoderSteps::compute(std::span<OrtValueHandle* const> inputs, int64_t /*length*/) {
  std::vector<const OrtValue*> values;
  for (const OrtValueHandle* input : inputs) values.push_back(input->get());
  std::vector<OrtValue*> made(outputs_.size());  // null: by the library
  as_error([&] {
    ort().call(ort_run, session_.get(), nullptr, inputs_.data(), values.data(), values.size(), outputs_.data(), made.size(), made.data());
  });
  std::vector<OrtValueHandle> outputs;
  for (OrtValue* value : made) outputs.emplace_back(value);
  return outputs;
}

TensorView OrtDecoderSteps::content(OrtValueHandle& value, const std::string& output, DataType type, Shape& shape) {
  return as_error([&] { return ort_tensor(value.get(), output, type, shape); });
}

}  // namespace deepgap
