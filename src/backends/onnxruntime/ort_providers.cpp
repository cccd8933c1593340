#include "backends/onnxruntime/ort_providers.h"

#include "backends/common/hidden_amx.h"
#include "backends/common/nvidia_devices.h"
#include "backends/common/quantized_file.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <set>

namespace deepgap {
namespace {

struct Known {
  const char* name;       // name in our option
  const char* full_name;  // in the library
  const char* package;
  OrtProvider provider;
  bool ran_on_hardware;  // by us, ever
};
constexpr Known known[] = {
    {"cpu", "CPUExecutionProvider", "onnxruntime", OrtProvider::cpu, true},
    {"cuda", "CUDAExecutionProvider", "onnxruntime-gpu", OrtProvider::cuda, true},
    {"tensorrt", "TensorrtExecutionProvider", "onnxruntime-gpu", OrtProvider::tensorrt, false},
    {"openvino", "OpenVINOExecutionProvider", "onnxruntime-openvino", OrtProvider::openvino, true},
};
const Known& about(OrtProvider provider) { return known[static_cast<size_t>(provider)]; }

// Returns those that the library was built with.
const std::set<std::string>& built_in() {
  static const std::set<std::string> names = [] {
    char** list = nullptr;
    int count = 0;
    ort().call(ort_available_providers, &list, &count);
    std::set<std::string> found(list, list + count);
    ort().call(ort_release_available_providers, list, count);
    return found;
  }();
  return names;
}

bool for_nvidia(OrtProvider provider) { return provider == OrtProvider::cuda || provider == OrtProvider::tensorrt; }

// Keys and values as the C interface takes them.
class Settings {
 public:
  explicit Settings(std::map<std::string, std::string> given) : given_(std::move(given)) {
    for (const auto& [key, value] : given_) keys_.push_back(key.c_str()), values_.push_back(value.c_str());
  }
  const char* const* keys() const { return keys_.data(); }
  const char* const* values() const { return values_.data(); }
  size_t size() const { return keys_.size(); }

 private:
  std::map<std::string, std::string> given_;
  std::vector<const char*> keys_, values_;
};

void append_cuda(OrtSessionOptions* options, const DeviceId& device, Precision precision) {
  const Settings settings({{"device_id", std::to_string(device.index)}, {"use_tf32", precision == Precision::tf32 ? "1" : "0"}});
  OrtCUDAProviderOptionsV2* raw = nullptr;
  ort().call(ort_create_cuda_options, &raw);
  const std::unique_ptr<OrtCUDAProviderOptionsV2, OrtDeleter<OrtCUDAProviderOptionsV2, ort_release_cuda_options>> made(raw);
  ort().call(ort_update_cuda_options, raw, settings.keys(), settings.values(), settings.size());
  ort().call(ort_append_cuda, options, raw);
}

void append_tensorrt(OrtSessionOptions* options, const DeviceId& device, Precision precision) {
  ::setenv("NVIDIA_TF32_OVERRIDE", "0", 0);  // there is no option for it, and fp32 is not TF32
  const Settings settings({{"device_id", std::to_string(device.index)},
                           {"trt_fp16_enable", precision == Precision::fp16 ? "1" : "0"},
                           {"trt_int8_enable", precision == Precision::int8 ? "1" : "0"}});
  OrtTensorRTProviderOptionsV2* raw = nullptr;
  ort().call(ort_create_tensorrt_options, &raw);
  const std::unique_ptr<OrtTensorRTProviderOptionsV2, OrtDeleter<OrtTensorRTProviderOptionsV2, ort_release_tensorrt_options>> made(raw);
  ort().call(ort_update_tensorrt_options, raw, settings.keys(), settings.values(), settings.size());
  ort().call(ort_append_tensorrt, options, raw);
}

void append_openvino(OrtSessionOptions* options, int threads) {
  keep_off_hidden_amx();
  const Settings settings({{"device_type", "CPU"}, {"precision", "FP32"}, {"num_of_threads", std::to_string(threads)}});
  ort().call(ort_append_openvino, options, settings.keys(), settings.values(), settings.size());
}

}  // namespace

std::string ort_provider_name(OrtProvider provider) { return about(provider).name; }

std::string ort_provider_defect(OrtProvider provider) {
  if (provider == OrtProvider::cpu) return "";
  const Known& one = about(provider);
  if (!built_in().contains(one.full_name)) {
    return fmt::format("{} was built without it; set DEEPGAP_ONNXRUNTIME to the library of {}",
                       std::filesystem::path(ort().path()).filename().string(), one.package);
  }
  const auto library = std::filesystem::path(ort().path()).parent_path() / fmt::format("libonnxruntime_providers_{}.so", one.name);
  std::error_code error;
  if (!std::filesystem::exists(library, error)) return fmt::format("{} is not there", library.string());
  if (for_nvidia(provider) && nvidia_devices().empty()) return "no NVIDIA device here";
  return "";
}

std::map<std::string, std::string> ort_provider_states() {
  std::map<std::string, std::string> states;
  for (const Known& one : known) {
    const std::string defect = ort_provider_defect(one.provider);
    std::string& state = states[fmt::format("provider.{}", one.name)];
    state = defect.empty() ? "available" : "not available: " + defect;
    if (!one.ran_on_hardware) state += "; never run on its hardware";
  }
  return states;
}

std::vector<DeviceInfo> ort_gpu_devices() {
  const bool usable = ort_provider_defect(OrtProvider::cuda).empty() || ort_provider_defect(OrtProvider::tensorrt).empty();
  return usable ? nvidia_devices() : std::vector<DeviceInfo>{};
}

std::string ort_precision_refusal(OrtProvider provider, Precision precision, const GraphSummary& graph) {
  static const std::map<OrtProvider, std::vector<std::string>> precisions{{OrtProvider::cpu, {"fp32", "int8"}},
                                                                          {OrtProvider::cuda, {"fp32", "tf32"}},
                                                                          {OrtProvider::tensorrt, {"fp32", "fp16", "int8"}},
                                                                          {OrtProvider::openvino, {"fp32", "int8"}}};
  const std::vector<std::string>& possible = precisions.at(provider);
  if (std::find(possible.begin(), possible.end(), name_of(precision)) == possible.end()) {
    return fmt::format("precision {} is not supported by the {} provider, only {}", name_of(precision), about(provider).name,
                       fmt::join(possible, ", "));
  }
  if (provider == OrtProvider::cuda && is_quantized(graph)) return "the cuda provider computes quantized files in floats";
  return quantization_refusal(precision, graph);
}

void append_ort_provider(OrtSessionOptions* options, OrtProvider provider, const DeviceId& device, Precision precision, int threads) {
  switch (provider) {
    case OrtProvider::cpu:
      return;  // always there
    case OrtProvider::cuda:
      return append_cuda(options, device, precision);
    case OrtProvider::tensorrt:
      return append_tensorrt(options, device, precision);
    case OrtProvider::openvino:
      return append_openvino(options, threads);
  }
}

}  // namespace deepgap
