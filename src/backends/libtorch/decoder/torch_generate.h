// Task generate on LibTorch: decoders of GGUF files and of the zoo, and on a CPU ONNX decoders with past key values.
#pragma once

#include "backends/libtorch/torch_settings.h"

#include <deepgap/backend.h>

#include <memory>
#include <string>

namespace deepgap {

// Returns why such a decoder does not run; empty when it does.
std::string torch_generate_refusal(const EngineRequest& request, const GraphSummary& graph, const TorchSettings& settings);
// `name` is that of the plug-in. Throws Error{refused | input | out_of_memory}.
std::unique_ptr<Session> make_torch_generate_session(const std::string& name, const Model& model, const LoadOptions& options,
                                                     const TorchSettings& settings);

}  // namespace deepgap
