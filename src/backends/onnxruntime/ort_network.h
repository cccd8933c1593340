// A Model opened by ONNX Runtime.
#pragma once

#include "backends/common/port.h"
#include "backends/onnxruntime/ort_settings.h"

#include <deepgap/backend.h>

#include <string>
#include <vector>

namespace deepgap {

// Serves any batch up to the largest that was loaded. Not moved once slots refer to it.
struct OrtNetwork {
  std::vector<Port> inputs, outputs;
  int64_t max_batch = 1;
  bool io_binding = true;
  bool copies_when_bound = false;  // a device's: the library copies an input there when it is bound, not when it runs
  OrtSessionHandle session;
  OrtMemoryInfoHandle host_memory;
};

// The file as it is, for a Model whose Graph says what it takes. Throws OrtFailure and Error{refused}.
OrtSessionHandle open_ort_file(const std::string& path, const LoadOptions& options, const OrtSettings& settings);

// If `profile_prefix` is set, every run writes the times of its nodes to a file of that name, see ort_profile.h. Throws Error{refused |
// input | out_of_memory}.
OrtNetwork open_ort_network(const Model& model, const LoadOptions& options, const OrtSettings& settings,
                            const std::string& profile_prefix = "");

}  // namespace deepgap
