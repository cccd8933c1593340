// Durations of which some were cut short by something that does not depend on them: queries of which one knows only how long they had run
// when somebody took the CPU. To leave those out would prefer short ones, which have better odds to end in time. So every duration that was
// seen whole stands for 1 / G of them, where G is the estimated chance that one so long is not cut short (Kaplan and Meier's estimator of
// the cutting):
//   Kaplan and Meier, "Nonparametric estimation from incomplete observations", JASA 53 (1958).
//   Robins and Rotnitzky, "Recovery of information and adjustment for dependent censoring using surrogate markers", 1992: the weights.
//   Satten and Datta, "The Kaplan-Meier estimator as an inverse-probability-of-censoring weighted average", The American Statistician 55
//   (2001): both are the same.
// Numbers in, numbers out; any thread.
#pragma once

#include <span>
#include <vector>

namespace deepgap {

struct CutShort {
  double duration = 0;  // until its end, or until it was cut short
  bool whole = true;
};

struct CutShortWeights {
  std::vector<double> weights;  // for each duration: 0 of those that were cut short
  double unseen = 0;            // share of durations that are longer than any that was seen whole
};
CutShortWeights weigh_cut_short(std::span<const CutShort> durations);

}  // namespace deepgap
