// What an arm of an interleaved comparison does when nothing disturbs it, over what the first arm does then: by the undisturbed parts of
// both arms' time slices (analysis/undisturbed.h). On a busy machine it may be known where the comparison of whole slices is not. Computed
// once, when the comparison is over. Pure functions.
#pragma once

#include <deepgap/record.h>

#include <optional>
#include <string>

namespace deepgap {

inline constexpr const char* undisturbed_ratio_metric = "duel_ratio_undisturbed";

// The ratio with its interval; nullopt: one of the two has no estimate. `confidence`: of the interval.
std::optional<Estimate> undisturbed_ratio(const Record& first, const Record& arm, double confidence);
// "undisturbed 1.07x (1.02 to 1.13)"
std::string undisturbed_words(const Estimate& ratio);

}  // namespace deepgap
