// The options of the openvino backend, parsed, and as the properties a model is compiled with.
#pragma once

#include "backends/generate/generation_settings.h"
#include "base/option_table.h"

#include <deepgap/backend.h>

#include <openvino/core/any.hpp>

#include <optional>

namespace deepgap {

enum class OvHint { none, latency, throughput };

struct OvSettings {
  int threads = 1;
  OvHint hint = OvHint::latency;
  int streams = 0;                              // 0: the hint decides
  std::optional<bool> pinned, hyper_threading;  // nullopt: the library decides
  bool profiled = false;
  GenerationSettings generation;
};

const OptionTable<OvSettings>& ov_options();
// Reads the options and the request's threads. Throws Error{usage} naming the option and what it takes.
OvSettings ov_settings(const EngineRequest& request);
// `slots` queries at a time; `precision` is one that the backend supports. The precision is always said: left alone, the library computes
// FP32 networks in BF16 on CPUs that have it.
ov::AnyMap ov_properties(const OvSettings& settings, Precision precision, int slots);

}  // namespace deepgap
