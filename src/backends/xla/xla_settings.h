// What the xla backend takes, and how it computes a request.
#pragma once

#include <deepgap/backend.h>

#include <string>

namespace deepgap {

struct XlaSettings {
  DataType floats = DataType::f32;  // in which float32 is computed
  bool exact = true;                // products are not rounded to TF32
};

XlaSettings xla_settings(const EngineRequest& request);
// Returns why this is not run, as far as the summary shows; empty when it is.
std::string xla_refusal(const EngineRequest& request, const GraphSummary& graph);

}  // namespace deepgap
