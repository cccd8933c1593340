// Decides which statements of the findings a summary shows, and which it folds away. Pure.
#pragma once

#include "analysis/finding.h"

#include <cstddef>
#include <vector>

namespace deepgap {

inline constexpr size_t key_statements_shown = 6;

struct KeyStatements {
  std::vector<Statement> shown;   // at most key_statements_shown, most important first
  std::vector<Statement> folded;  // the others, in the order of their findings, without failures
};

// Failures come first, then results, then cautions. Results are taken one from each finding in turn, so that a finding with a statement for
// every model does not hide the others. Up to two places are kept for failures and cautions, since they decide whether the rest can be
// believed. Notes are shown only where places remain.
KeyStatements key_statements(const std::vector<FindingStatements>& findings);

}  // namespace deepgap
