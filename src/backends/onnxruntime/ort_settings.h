// The options of the onnxruntime backend, parsed, and put into the library's session options.
#pragma once

#include "backends/generate/generation_settings.h"
#include "backends/onnxruntime/ort_library.h"
#include "backends/onnxruntime/ort_providers.h"
#include "base/option_table.h"

#include <deepgap/backend.h>

#include <optional>
#include <string>
#include <vector>

namespace deepgap {

struct OrtSettings {
  int threads = 1;
  int inter_op_threads = 1;
  int execution_mode = ort_sequential;
  int graph_optimization = ort_enable_all;
  bool spinning = true;
  bool pinned = false;
  bool io_binding = true;
  std::optional<OrtProvider> provider;  // nullopt: the device's own
  std::vector<std::string> custom_ops;  // libraries of operators, absolute paths
  GenerationSettings generation;
};

const OptionTable<OrtSettings>& ort_options();
// Reads the options and the request's threads. Throws Error{usage} naming the option and what it takes, or the missing library.
OrtSettings ort_settings(const EngineRequest& request);
OrtProvider ort_provider(const OrtSettings& settings, const DeviceId& device);
// For the CPU provider alone; with the custom operators' libraries. Products with weights of few bits keep their activations in floats,
// unless int8 is asked for. Throws OrtFailure, and Error{refused} for a library that cannot be used.
OrtSessionOptionsHandle make_session_options(const OrtSettings& settings, Precision precision);

// Where the threads-1 pool threads go, as the library wants it: "2;3;4", CPUs counted from 1. The calling thread is left where it is and
// is taken to run on the first of `cpus`. Empty when there is nothing to pin, or fewer CPUs than threads.
std::string affinity_text(const std::vector<int>& cpus, int threads);

}  // namespace deepgap
