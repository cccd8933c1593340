#include "analysis/duel/undisturbed_ratio.h"

#include "analysis/combine_repeats.h"
#include "analysis/ratio_text.h"
#include "analysis/undisturbed.h"
#include "stats/compare.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {

std::optional<Estimate> undisturbed_ratio(const Record& first, const Record& arm, double confidence) {
  const UndisturbedFound one = find_undisturbed(first), other = find_undisturbed(arm);
  if (!one.values || !other.values || !one.values->throughput.low || !other.values->throughput.low) return std::nullopt;
  const Estimate &of_first = one.values->throughput, &of_arm = other.values->throughput;
  const auto found = estimate_ratio(moments_of(of_arm), moments_of(of_first), confidence);
  if (!found) return std::nullopt;
  return Estimate{found->ratio, found->interval.low, found->interval.high, std::min(of_first.n, of_arm.n)};
}

std::string undisturbed_words(const Estimate& ratio) {
  if (!ratio.low || !ratio.high) return fmt::format("undisturbed {}x", ratio_beside_one(ratio.value));
  const RatioText text = ratio_text(ratio.value, {*ratio.low, *ratio.high});
  return fmt::format("undisturbed {}x ({})", text.ratio, text.range);
}

}  // namespace deepgap
