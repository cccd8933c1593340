#include "backends/openvino/ov_precisions.h"

#include "backends/common/precision_tally.h"
#include "base/text.h"

#include <openvino/core/model.hpp>

#include <array>
#include <string>
#include <string_view>

namespace deepgap {
namespace {

// Returns the layer's runtime information under `key`, or "" if it has none.
std::string info_of(const ov::Node& layer, const std::string& key) {
  const auto found = layer.get_rt_info().find(key);
  return found != layer.get_rt_info().end() && found->second.is<std::string>() ? found->second.as<std::string>() : "";
}

// The CPU plug-in's names of layers that multiply matrices. A Subgraph may hold the products of an attention block.
bool multiplies(std::string_view type) {
  constexpr std::array<std::string_view, 6> types{"Convolution",      "Deconvolution", "FullyConnected",
                                                  "GroupConvolution", "MatMul",        "Subgraph"};
  for (const std::string_view one : types) {
    if (type == one) return true;
  }
  return false;
}

// Returns deepgap's name for it; a precision without one keeps the library's name.
std::string precision_name(const std::string& runtime_precision) {
  if (runtime_precision == "u8" || runtime_precision == "i8") return "int8";
  if (runtime_precision == "f32") return "fp32";
  if (runtime_precision == "f16") return "fp16";
  return runtime_precision;
}

}  // namespace

PrecisionShares ov_precision_shares(const ov::CompiledModel& compiled, const Model& model) {
  PrecisionTally tally(model);
  for (const auto& layer : compiled.get_runtime_model()->get_ops()) {
    if (!multiplies(info_of(*layer, "layerType"))) continue;
    const std::string precision = precision_name(info_of(*layer, "runtimePrecision"));
    for (const std::string& origin : split(info_of(*layer, "originalLayersNames"), ',')) tally.computed(origin, precision);
  }
  return tally.shares();
}

}  // namespace deepgap
