// The knobs of LibTorch that deepgap turns, and what each precision is.
#pragma once

#include "cuda/samples.h"

#include <deepgap/backend.h>

#include <map>
#include <string>
#include <vector>

namespace deepgap {

struct TorchSettings {
  bool channels_last = false;
  std::string package;                                  // a TorchScript or AOTInductor file; empty: the Graph is run
  bool cuda_graph = false;                              // only with CUDA
  bool cudnn_search = false;                            // only with CUDA
  cuda::SamplePlace samples = cuda::SamplePlace::host;  // only with CUDA
};

std::vector<OptionInfo> torch_option_infos(bool cuda);
// Throws Error{usage} for a value that cannot be read.
TorchSettings parse_torch_settings(const std::map<std::string, std::string>& options, bool cuda);

// Whether the plug-in `name` with these devices can run this, as far as the summary tells.
Support torch_support(const Point& point, const GraphSummary& graph, const std::string& name, const std::vector<DeviceInfo>& devices);

}  // namespace deepgap
