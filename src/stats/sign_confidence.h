// The sign test: what a count of successes says about the chance of one. Pure.
#pragma once

namespace deepgap {

// Confidence that at least half of all runs succeed, where `successes` of `runs` did: 1 minus the chance of as many or more by a fair
// coin. 31/32 for 5 of 5; 0 without runs. Dixon and Mood, "The statistical sign test", JASA 41 (1946).
double sign_confidence(int runs, int successes);

}  // namespace deepgap
