// Reports the results of duels.
#include "analysis/duel/duels.h"
#include "analysis/finding.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

std::vector<Statement> find_duels(const Evidence& evidence) {
  std::vector<Statement> statements;
  for (const DuelFound& duel : duels_of(evidence.results.points)) {
    Statement statement;
    statement.headline = fmt::format("Interleaved comparison of {} on {}", duel.axis, duel.label());
    statement.points.push_back(duel.first);
    for (const DuelOutcome& outcome : duel.others) {
      statement.detail += outcome.words + ". ";
      statement.points.push_back(outcome.point);
    }
    statements.push_back(std::move(statement));
  }
  return statements;
}

const bool registered = register_finding(
    {"duels", 51, find_duels,
     "Arms of interleaved comparisons, each against the first, by pairs of time slices. The intervals hold whenever they are looked at."});

}  // namespace
}  // namespace deepgap
