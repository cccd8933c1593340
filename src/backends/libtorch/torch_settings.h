// The knobs of LibTorch that deepgap turns, and what each precision is.
#pragma once

#include "backends/generate/generation_settings.h"
#include "base/option_table.h"
#include "cuda/samples.h"

#include <deepgap/backend.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace deepgap {

struct TorchSettings {
  bool channels_last = false;
  std::string package;        // a TorchScript or AOTInductor file; empty: the Graph is run
  bool cuda_graph = false;    // only with CUDA
  bool cudnn_search = false;  // only with CUDA
  bool overlaps = true;       // gradients are averaged while the backward pass goes on
  int64_t bucket_mib = 25;    // size of the gradients that are averaged together
  GenerationSettings generation;
  cuda::SamplePlace samples = cuda::SamplePlace::host;  // only with CUDA

  size_t bucket_bytes() const { return overlaps ? static_cast<size_t>(bucket_mib) << 20 : 0; }  // as TorchAllReduce has it
};

// Lists all of it but `samples`, which is not an option of the engine.
const OptionTable<TorchSettings>& torch_options(bool cuda);

// Returns whether the plug-in `name` with these devices can run this, as far as the summary shows.
Support torch_support(const EngineRequest& request, const GraphSummary& graph, const std::string& name,
                      const std::vector<DeviceInfo>& devices);

}  // namespace deepgap
