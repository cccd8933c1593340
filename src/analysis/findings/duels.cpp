// Reports the results of duels.
#include "analysis/duel/duels.h"
#include "analysis/finding.h"
#include "base/registry.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

class Duels final : public Finding {
 public:
  std::string id() const override { return "duels"; }
  int order() const override { return 51; }
  std::string describe() const override {
    return "Arms of interleaved comparisons, each against the first, by pairs of time slices. The intervals hold whenever they are looked "
           "at.";
  }
  std::vector<Statement> find(const Evidence& evidence) const override {
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
};

const bool registered = Registry<Finding>::instance().add("duels", [] { return std::make_unique<Duels>(); });

}  // namespace
}  // namespace deepgap
