// Two sets of results, point by point: what `deepgap compare` says. Points are matched by what they are, without the axes that were chosen
// to differ. Verdicts are about the second against the first and allow for the number of comparisons: of the list's differences about one
// in twenty is wrong at most (Benjamini and Hochberg); as a gate the chance that any is wrong is (Holm, and all points together). Pure
// functions; pointers lead into the Results given, which must outlive the result.
#pragma once

#include "analysis/comparison.h"
#include "analysis/results.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {

enum class Change { faster, slower, same, unknown };
const char* name_of(Change change);

struct CompareSettings {
  std::string metric = "throughput";  // one that has a better direction
  double margin = 0.02;               // differences within it are the same
  double gate_margin = 0;             // that a gate judges by as well; 0: there is none
  std::set<std::string> differing;    // axes that the two selections name: a match need not share them
};

struct PointChange {
  const PointSummary* a = nullptr;
  const PointSummary* b = nullptr;
  Comparison comparison;  // b over a, of the metric's value
  Change change = Change::unknown;
  size_t needs_repeats = 0;    // or nodes, to show a difference of the margin, where unknown; 0: not known either
  double smallest_effect = 0;  // that would have been seen; infinity where not known
  bool other_device = false;
  bool other_node = false;  // each was measured on one, both of a kind
  bool apart = false;       // no run measured both
};

// The answer of a gate over all pairs: the worst one.
enum class Gate { held, not_enough_data, slower };

struct GateResult {
  double margin = 0;  // that a slowdown may have
  Gate gate = Gate::held;
  std::vector<const PointChange*> slower;  // by more than the margin
  std::optional<RepeatsRatio> together;    // b over a, geometric mean of all points; absent for one point, or if they share no repeats
  bool together_slower = false;            // it is slower by more than the margin
  std::vector<const PointChange*> open;    // that cannot be excluded, nor shown
  size_t left_out = 0;                     // matched, but without a value of both
  size_t needs_repeats = 0;  // repeats (or nodes) of each side with which the gate has an answer, at the ratios seen; 0: not known
};

struct ResultsComparison {
  std::vector<PointChange> points;
  std::vector<const PointSummary*> only_a, only_b;                            // without a match, or with several
  std::vector<std::pair<const PointSummary*, const PointSummary*>> unusable;  // matched, but one of them has no value to compare
  size_t offered = 0;  // matched, but their throughput is the load that was offered, and is not compared
  // Facts of the environment that are one for each side and differ: name, a's and b's text.
  std::vector<std::pair<std::string, std::pair<std::string, std::string>>> environment;
};

// Throws Error{usage} for a metric that is none or has no better direction.
ResultsComparison compare_results(const Results& a, const Results& b, const CompareSettings& settings);

// Tests whether b is slower than a by more than `margin` anywhere; the test is one-sided, and not about whether they differ at all. slower:
// shown for some point, or for the geometric mean of all of them, which implies that at least one is slower. The chance of any false alarm
// is 5 %, whatever the true slowdowns within the margin: half of it is spent on the mean and half on the points (Holm); if the mean is
// slower, the points get its half too (Bretz and others). The mean finds a slowdown that all points share, which scatter hides in each.
// held: it is excluded for every pair, each with 95 %. What has no match is not judged.
//   Holm, Scandinavian Journal of Statistics 6 (1979); Bretz, Maurer, Brannath and Posch, Statistics in Medicine 28 (2009); Schuirmann
//   1987; Berger, Technometrics 24 (1982): all must be shown, so that none of the tests needs an allowance for the others.
GateResult judge_gate(const ResultsComparison& comparison, const CompareSettings& settings, double margin);

}  // namespace deepgap
