// The options of the openvino backend, parsed, and as the properties a model is compiled with.
#pragma once

#include <deepgap/backend.h>

#include <openvino/core/any.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

enum class OvHint { none, latency, throughput };

struct OvSettings {
  int threads = 1;
  OvHint hint = OvHint::latency;
  int streams = 0;                              // 0: the hint decides
  std::optional<bool> pinned, hyper_threading;  // nullopt: the library decides
  bool profiled = false;
};

std::vector<OptionInfo> ov_option_infos();
// Throws Error{usage} naming the option and what it takes.
OvSettings parse_ov_settings(const std::map<std::string, std::string>& options, int threads);
// `slots` queries at a time; `precision` is one that the backend supports. The precision is always said: left alone, the library computes
// FP32 networks in BF16 on CPUs that have it.
ov::AnyMap ov_properties(const OvSettings& settings, const std::string& precision, int slots);

}  // namespace deepgap
