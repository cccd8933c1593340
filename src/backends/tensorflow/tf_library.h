// TensorFlow's shared library: found, opened and checked once a process, never closed. Only in a worker or inspection child. Thread-safe.
#pragma once

#include "backends/tensorflow/tf_api.h"

#include <functional>
#include <memory>
#include <string>

namespace deepgap {

// The version that the adapter was written for and is tested with; older ones are refused.
inline constexpr const char* tf_least_version = "2.21";

// The path of libtensorflow_cc.so.2 or libtensorflow.so.2: of DEEPGAP_TENSORFLOW (a tensorflow package, a folder with one, an unpacked C
// library, or the file; then nowhere else), of deps/tensorflow beside the plug-in (in a build tree what the set-up installed), or of the
// `tensorflow` that the Python on PATH has installed. Throws Error{refused} naming the places where it is not.
std::string find_tensorflow();
// Returns why this version cannot be used; empty when it can. The C interface is kept within the major version.
std::string tf_version_defect(const std::string& version);
// Returns what the library's code needs and the CPU lacks, where the library would end the process; empty: nothing. `has` answers for a
// feature by its name ("avx").
std::string tf_cpu_defect(const std::function<bool(const std::string&)>& has);

class TfLibrary {
 public:
  // Throws Error{refused} naming where it was looked for, or why it cannot be used.
  static const TfLibrary& instance();
  const TfApi& api() const { return api_; }
  const std::string& path() const { return path_; }

 private:
  TfLibrary();
  std::string path_;
  TfApi api_{};
};

inline const TfApi& tf() { return TfLibrary::instance().api(); }

}  // namespace deepgap
