#include "report/key_statements.h"

#include <algorithm>
#include <set>

namespace deepgap {
namespace {

using Chosen = std::vector<const Statement*>;

template <typename Is>
Chosen in_turn(const std::vector<FindingStatements>& findings, Is is) {
  Chosen chosen;
  bool any = true;
  for (size_t round = 0; any; ++round) {
    any = false;
    for (const FindingStatements& finding : findings) {
      if (round >= finding.statements.size()) continue;
      any = true;
      if (is(finding.statements[round].tone)) chosen.push_back(&finding.statements[round]);
    }
  }
  return chosen;
}

void append(Chosen& to, const Chosen& from, size_t most) {
  const size_t count = std::min(most, from.size());
  to.insert(to.end(), from.begin(), from.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace

KeyStatements key_statements(const std::vector<FindingStatements>& findings) {
  constexpr size_t kept_for_cautions = 2;
  const Chosen results = in_turn(findings, [](Tone tone) { return tone == Tone::result; });
  const Chosen failures = in_turn(findings, [](Tone tone) { return tone == Tone::failure; });
  const Chosen warnings = in_turn(findings, [](Tone tone) { return tone == Tone::warning; });
  const Chosen notes = in_turn(findings, [](Tone tone) { return tone == Tone::note; });

  const size_t cautions = std::min(failures.size() + warnings.size(),
                                   std::max(kept_for_cautions, key_statements_shown - std::min(key_statements_shown, results.size())));
  Chosen shown;
  append(shown, failures, std::min(cautions, failures.size()));
  const size_t warned = cautions - shown.size();
  append(shown, results, key_statements_shown - cautions);
  append(shown, warnings, warned);
  append(shown, notes, key_statements_shown - shown.size());

  KeyStatements key;
  const std::set<const Statement*> is_shown(shown.begin(), shown.end());
  for (const Statement* statement : shown) key.shown.push_back(*statement);
  for (const FindingStatements& finding : findings) {
    if (finding.place == Place::failures) continue;  // a section of the report lists all of them
    for (const Statement& statement : finding.statements) {
      if (!is_shown.contains(&statement)) key.folded.push_back(statement);
    }
  }
  return key;
}

}  // namespace deepgap
