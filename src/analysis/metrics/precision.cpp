// The precisions in which the work was done, as the engine reports them for what it compiled.
#include "analysis/metric.h"

#include <string_view>

namespace deepgap {
namespace {

// The facts "macs.int8", "macs.fp32" and so on add up to 1; all of them are absent where the engine does not report them.
std::optional<Estimate> share_of(const Record& record, std::string_view precision) {
  constexpr std::string_view prefix = "macs.";
  bool any = false;
  double share = 0;
  for (auto fact = record.facts.lower_bound(std::string(prefix)); fact != record.facts.end() && fact->first.starts_with(prefix); ++fact) {
    const auto* value = std::get_if<double>(&fact->second);
    if (value == nullptr) continue;
    any = true;
    if (std::string_view(fact->first).substr(prefix.size()) == precision) share = *value;
  }
  if (!any) return std::nullopt;
  return Estimate{share, {}, {}, 1};
}

const bool registered = register_metrics({
    {"int8_mac_share", "1", Better::higher, "share of the multiply-accumulates that the engine computes in INT8, as it reports",
     [](const Record& r) { return share_of(r, "int8"); }},
    {"int4_mac_share", "1", Better::higher, "share of the multiply-accumulates that the engine computes with INT4 weights, as it reports",
     [](const Record& r) { return share_of(r, "int4"); }},
});

}  // namespace
}  // namespace deepgap
