// Libraries that are no ONNX Runtime or one that is too old, one for each definition: what deepgap says of them is tested by
// onnxruntime_library.sh.
#include <cstdint>

namespace {

struct Base {
  const void* (*get_api)(uint32_t version);
  const char* (*get_version_string)();
};

// Nothing newer than release 1.2.
const void* get_api(uint32_t version) {
  static const int table = 0;
  return version <= 2 ? &table : nullptr;
}
const char* get_version_string() { return "1.2.3"; }
const Base base{get_api, get_version_string};

}  // namespace

#if defined(DEEPGAP_BAD_OLD)
extern "C" __attribute__((visibility("default"))) const Base* OrtGetApiBase() { return &base; }
#elif defined(DEEPGAP_BAD_EMPTY)
extern "C" __attribute__((visibility("default"))) const Base* OrtGetApiBase() { return nullptr; }
#else
extern "C" __attribute__((visibility("default"))) const Base* SomethingElse() { return &base; }
#endif
