// Prints what `deepgap compare` found: as text, as Markdown for a pull request, as JSON for scripts. Pure functions.
#pragma once

#include "analysis/compare/compare_results.h"
#include "analysis/point_labels.h"
#include "report/compare_page.h"

#include <optional>
#include <string>

namespace deepgap {

struct ComparedSides {
  std::string a, b;  // how they are called: files, with their selections
};

// The result of `--fail-if-slower`; nullopt within: nothing was compared, or devices differ.
struct GateAnswer {
  double margin = 0;   // that was asked
  std::string result;  // a word for the exit code
  std::optional<GateResult> judged;
};
// Returns one line: "gate (slower by more than 2 %): not enough data: ...; 14 repeats of each side would tell ...".
std::string gate_text(const GateAnswer& gate, const ResultsComparison& comparison);

// Returns labels with what distinguishes the comparison's rows.
PointLabels labels_of(const ResultsComparison& comparison);

// The table at most `width` characters wide where that can be had; 0: as wide as it is.
std::string comparison_text(const ResultsComparison& comparison, const CompareSettings& settings, const ComparedSides& sides,
                            size_t width = 0);
std::string comparison_markdown(const ResultsComparison& comparison, const CompareSettings& settings, const ComparedSides& sides);
// {"comparisons": [{"a", "b", "ratio", "low", "high", "verdict", "needs_repeats", ...}], "gate": null, ...}; of a gate that has not enough
// data "needs_repeats"
std::string comparison_json(const ResultsComparison& comparison, const CompareSettings& settings, const ComparedSides& sides,
                            const std::optional<GateAnswer>& gate = std::nullopt);

// Returns the comparison as a page shows it (report/compare_page.h).
ComparedStores compared_stores(const ResultsComparison& comparison, const CompareSettings& settings, const ComparedSides& sides);

}  // namespace deepgap
