#include "analysis/finding.h"

#include "base/registry.h"

#include <algorithm>
#include <tuple>

namespace deepgap {
namespace {

// Cautions keep the order that their Finding gives them, which is by severity.
std::tuple<double, Verdict, int64_t> place_of(const Statement& statement) {
  if (statement.tone != Tone::result || statement.points.empty()) return {-statement.effect, Verdict::none, 0};
  int64_t records = 0;
  for (const PointSummary* point : statement.points) records += point->records;
  return {-statement.effect, statement.points.front()->verdict, -records};
}

}  // namespace

std::vector<FindingStatements> all_findings(const Evidence& evidence) {
  std::vector<std::unique_ptr<Finding>> findings;
  const auto& registry = Registry<Finding>::instance();
  for (const std::string& name : registry.names()) findings.push_back(registry.make("finding", name));
  std::stable_sort(findings.begin(), findings.end(), [](const auto& a, const auto& b) { return a->order() < b->order(); });
  std::vector<FindingStatements> said;
  for (const auto& finding : findings) {
    auto statements = finding->find(evidence);
    std::stable_sort(statements.begin(), statements.end(),
                     [](const Statement& a, const Statement& b) { return place_of(a) < place_of(b); });
    if (!statements.empty()) said.push_back({finding->id(), finding->describe(), finding->place(), std::move(statements)});
  }
  return said;
}

}  // namespace deepgap
