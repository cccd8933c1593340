#include "plan/usual_names.h"

#include "base/text.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

namespace deepgap {
namespace {

struct OtherName {
  std::string_view theirs, ours;
};
constexpr OtherName precisions[] = {{"float32", "fp32"}, {"float", "fp32"},    {"f32", "fp32"}, {"float16", "fp16"}, {"half", "fp16"},
                                    {"f16", "fp16"},     {"bfloat16", "bf16"}, {"i8", "int8"},  {"u8", "int8"}};
constexpr OtherName backends[] = {{"ort", "onnxruntime"},
                                  {"onnx_runtime", "onnxruntime"},
                                  {"onnx-runtime", "onnxruntime"},
                                  {"ov", "openvino"},
                                  {"torch", "libtorch"},
                                  {"pytorch", "libtorch"},
                                  {"trt", "tensorrt"},
                                  {"tf", "tensorflow"},
                                  {"jax", "xla"}};
constexpr OtherName scenarios[] = {{"singlestream", "single-stream"},
                                   {"single_stream", "single-stream"},
                                   {"multistream", "multi-stream"},
                                   {"multi_stream", "multi-stream"},
                                   {"poisson", "server"}};

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

template <size_t N>
std::string ours(const OtherName (&names)[N], std::string text) {
  const auto found = std::find_if(std::begin(names), std::end(names), [&](const OtherName& name) { return name.theirs == text; });
  return found == std::end(names) ? text : std::string(found->ours);
}

// "GPU" and "cuda" are the first of them, "1" and "gpu:1" the second; "host/" before a device is not ours to spell.
std::string device(const std::string& written) {
  if (written.find('/') != std::string::npos) return written;
  std::vector<std::string> devices = split(lower_case(written), '+');
  for (std::string& one : devices) {
    if (one == "gpu" || one.starts_with("gpu:")) one.replace(0, 3, "cuda");
    if (one == "cuda") one = "cuda:0";
    if (parse_int(one) && one[0] != '-') one.insert(0, "cuda:");
  }
  return join(devices, "+");
}

}  // namespace

std::string usual_name(const std::string& axis, const std::string& value) {
  if (axis == "precision") return ours(precisions, lower_case(value));
  if (axis == "backend") return ours(backends, lower_case(value));
  if (axis == "scenario") return ours(scenarios, lower_case(value));
  if (axis == "device") return device(value);
  if (axis == "task") return lower_case(value);
  return value;
}

}  // namespace deepgap
