// The ONNX Runtime shared library: found, opened and checked once a process, never closed (its threads may outlive any session). Only in
// a worker or inspection child. Thread-safe.
#pragma once

#include "backends/onnxruntime/ort_slots.h"

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace deepgap {

// A failed call of the library. Whoever knows what was asked turns it into an Error or a failed query.
struct OrtFailure {
  int code = 0;
  std::string message;
};

class OrtLibrary {
 public:
  // Throws Error{refused} naming where it was looked for, or why it cannot be used.
  static const OrtLibrary& instance();

  const std::string& version() const { return version_; }
  const std::string& path() const { return path_; }
  // One a process, made on the first call with telemetry off.
  OrtEnv* env() const;

  template <size_t Slot, typename R, typename... P>
  R raw(OrtFunction<Slot, R(P...)>, std::type_identity_t<P>... arguments) const {
    return reinterpret_cast<R (*)(P...)>(table_[Slot])(arguments...);
  }
  // Throws OrtFailure.
  template <size_t Slot, typename... P>
  void call(OrtFunction<Slot, OrtStatus*(P...)> function, std::type_identity_t<P>... arguments) const {
    if (OrtStatus* status = raw(function, arguments...)) throw take(status);
  }
  OrtFailure take(OrtStatus* status) const;  // and releases it

 private:
  OrtLibrary();

  std::string path_, version_;
  void* const* table_ = nullptr;
};

inline const OrtLibrary& ort() { return OrtLibrary::instance(); }

// $DEEPGAP_ONNXRUNTIME (the file or its folder), else deps/onnxruntime beside the plug-in or the program's plug-ins.
// Throws Error{refused} with all of them.
std::string find_ort_library();

// An object of the library, released by the function in `Release`.
template <typename T, const auto& Release>
struct OrtDeleter {
  void operator()(T* object) const { OrtLibrary::instance().raw(Release, object); }
};
using OrtSessionHandle = std::unique_ptr<OrtSession, OrtDeleter<OrtSession, ort_release_session>>;
using OrtSessionOptionsHandle = std::unique_ptr<OrtSessionOptions, OrtDeleter<OrtSessionOptions, ort_release_session_options>>;
using OrtValueHandle = std::unique_ptr<OrtValue, OrtDeleter<OrtValue, ort_release_value>>;
using OrtMemoryInfoHandle = std::unique_ptr<OrtMemoryInfo, OrtDeleter<OrtMemoryInfo, ort_release_memory_info>>;
using OrtAllocatorHandle = std::unique_ptr<OrtAllocator, OrtDeleter<OrtAllocator, ort_release_allocator>>;
using OrtTypeInfoHandle = std::unique_ptr<OrtTypeInfo, OrtDeleter<OrtTypeInfo, ort_release_type_info>>;
using OrtTypeAndShapeHandle = std::unique_ptr<OrtTensorTypeAndShapeInfo, OrtDeleter<OrtTensorTypeAndShapeInfo, ort_release_type_and_shape>>;
using OrtIoBindingHandle = std::unique_ptr<OrtIoBinding, OrtDeleter<OrtIoBinding, ort_release_io_binding>>;
using OrtKeyValuesHandle = std::unique_ptr<OrtKeyValuePairs, OrtDeleter<OrtKeyValuePairs, ort_release_key_values>>;

}  // namespace deepgap
