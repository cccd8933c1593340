// ONNX Runtime's execution providers: which of them the library at hand has, and how a session is given one. Providers other than the CPU's
// are shared libraries beside libonnxruntime, in packages such as onnxruntime-gpu and onnxruntime-openvino.
#pragma once

#include "backends/onnxruntime/ort_library.h"

#include <deepgap/backend.h>

#include <map>
#include <string>
#include <vector>

namespace deepgap {

enum class OrtProvider { cpu, cuda, tensorrt, openvino };

std::string ort_provider_name(OrtProvider provider);  // "cuda", as the option has it

// Returns why it cannot be used here; empty when it can, as far as libraries and devices show.
std::string ort_provider_defect(OrtProvider provider);

// Returns the text of `deepgap backends` for each: "provider.cuda" -> "not available: ...; never run on its hardware", "here".
std::map<std::string, std::string> ort_provider_states();

// NVIDIA's devices where a provider for them can be used; none otherwise.
std::vector<DeviceInfo> ort_gpu_devices();

// Returns why it does not do this precision, for a file of this summary; empty when it does.
std::string ort_precision_refusal(OrtProvider provider, Precision precision, const GraphSummary& graph);

// Puts it before the CPU's, which takes what it leaves. Throws OrtFailure.
void append_ort_provider(OrtSessionOptions* options, OrtProvider provider, const DeviceId& device, Precision precision, int threads);

}  // namespace deepgap
