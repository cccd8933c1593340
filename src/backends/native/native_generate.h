// Task generate on the native engine: the steps of the CPU's decoder or a GPU's.
#pragma once

#include "backends/native/native_options.h"

#include <deepgap/backend.h>

#include <memory>
#include <string>

namespace deepgap {

// Returns why these settings do not go together, or are not for this request; empty: they do.
std::string generate_refusal(const EngineRequest& request, const NativeOptions& native, const GraphSummary& graph);
// Throws Error{refused | input | out_of_memory}.
std::unique_ptr<Session> make_native_generate_session(const Model& model, const LoadOptions& options, const NativeOptions& native);

}  // namespace deepgap
