// A library of one custom operator for ONNX Runtime, com.example.Twice: float y = 2 x. Its package has no headers: the structure and the
// slots stand here as ort_slots.h has the others, source and try-out as there. Fields behind those of version 10 are not read.
#include "backends/onnxruntime/ort_slots.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace deepgap {
namespace {

struct OrtKernelContext;
struct OrtCustomOpDomain;

inline constexpr OrtFunction<26, OrtStatus*(const char* domain, OrtCustomOpDomain**)> create_domain;
inline constexpr OrtFunction<27, OrtStatus*(OrtCustomOpDomain*, const void* op)> add_op;
inline constexpr OrtFunction<28, OrtStatus*(OrtSessionOptions*, OrtCustomOpDomain*)> add_domain;
inline constexpr OrtFunction<64, OrtStatus*(const OrtTensorTypeAndShapeInfo*, size_t*)> get_element_count;
inline constexpr OrtFunction<90, OrtStatus*(const OrtKernelContext*, size_t index, const OrtValue**)> get_input;
inline constexpr OrtFunction<91, OrtStatus*(OrtKernelContext*, size_t index, const int64_t* dims, size_t rank, OrtValue**)> get_output;

void* const* api = nullptr;

template <size_t Slot, typename Signature, typename... Arguments>
auto call(OrtFunction<Slot, Signature> /*slot*/, Arguments... arguments) {
  return reinterpret_cast<Signature*>(api[Slot])(arguments...);
}

struct CustomOp {
  uint32_t version;
  void* (*create_kernel)(const CustomOp*, const void* api, const void* info);
  const char* (*name)(const CustomOp*);
  const char* (*provider)(const CustomOp*);
  int (*input_type)(const CustomOp*, size_t);
  size_t (*input_count)(const CustomOp*);
  int (*output_type)(const CustomOp*, size_t);
  size_t (*output_count)(const CustomOp*);
  void (*compute)(void* kernel, OrtKernelContext*);
  void (*destroy)(void* kernel);
  int (*input_characteristic)(const CustomOp*, size_t);
  int (*output_characteristic)(const CustomOp*, size_t);
  std::array<void*, 32> later;
};

constexpr int float_elements = 1, required = 0;
int kernel_state = 0;

void twice(void* /*kernel*/, OrtKernelContext* context) {
  const OrtValue* x = nullptr;
  OrtTensorTypeAndShapeInfo* info = nullptr;
  OrtValue* y = nullptr;
  size_t rank = 0, count = 0;
  call(get_input, static_cast<const OrtKernelContext*>(context), size_t{0}, &x);
  call(ort_get_type_and_shape, x, &info);
  call(ort_get_rank, static_cast<const OrtTensorTypeAndShapeInfo*>(info), &rank);
  std::vector<int64_t> dims(rank);
  call(ort_get_dimensions, static_cast<const OrtTensorTypeAndShapeInfo*>(info), dims.data(), rank);
  call(get_element_count, static_cast<const OrtTensorTypeAndShapeInfo*>(info), &count);
  call(ort_release_type_and_shape, info);
  call(get_output, context, size_t{0}, static_cast<const int64_t*>(dims.data()), rank, &y);
  void *from = nullptr, *to = nullptr;
  call(ort_get_tensor_data, const_cast<OrtValue*>(x), &from);
  call(ort_get_tensor_data, y, &to);
  for (size_t i = 0; i < count; ++i) static_cast<float*>(to)[i] = 2 * static_cast<const float*>(from)[i];
}

const CustomOp op{10,
                  [](const CustomOp*, const void*, const void*) -> void* { return &kernel_state; },
                  [](const CustomOp*) { return "Twice"; },
                  [](const CustomOp*) -> const char* { return nullptr; },
                  [](const CustomOp*, size_t) { return float_elements; },
                  [](const CustomOp*) { return size_t{1}; },
                  [](const CustomOp*, size_t) { return float_elements; },
                  [](const CustomOp*) { return size_t{1}; },
                  twice,
                  [](void*) {},
                  [](const CustomOp*, size_t) { return required; },
                  [](const CustomOp*, size_t) { return required; },
                  {}};

}  // namespace
}  // namespace deepgap

// The domain lives as long as the process: sessions may use it until then.
extern "C" __attribute__((visibility("default"))) deepgap::OrtStatus* RegisterCustomOps(deepgap::OrtSessionOptions* options,
                                                                                        const deepgap::OrtApiBase* base) {
  using namespace deepgap;
  api = base->get_api(10);
  static OrtCustomOpDomain* domain = nullptr;
  if (domain == nullptr) {
    if (OrtStatus* failure = call(create_domain, "com.example", &domain)) return failure;
    if (OrtStatus* failure = call(add_op, domain, static_cast<const void*>(&op))) return failure;
  }
  return call(add_domain, options, domain);
}
