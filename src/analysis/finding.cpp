#include "analysis/finding.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace deepgap {
namespace {

std::vector<Finding>& registered() {
  static std::vector<Finding> findings;
  return findings;
}

// Cautions keep the order that their Finding gives them, which is by severity.
std::tuple<double, Verdict, int64_t> place_of(const Statement& statement) {
  if (statement.tone != Tone::result || statement.points.empty()) return {-statement.effect, Verdict::none, 0};
  int64_t records = 0;
  for (const PointSummary* point : statement.points) records += point->records;
  return {-statement.effect, statement.points.front()->verdict, -records};
}

}  // namespace

bool register_finding(Finding finding) {
  registered().push_back(std::move(finding));
  return true;
}

std::vector<Finding> known_findings() {
  std::vector<Finding> findings = registered();
  std::sort(findings.begin(), findings.end(),
            [](const Finding& a, const Finding& b) { return std::tie(a.order, a.id) < std::tie(b.order, b.id); });
  return findings;
}

std::vector<FindingStatements> all_findings(const Evidence& evidence) {
  std::vector<FindingStatements> said;
  for (const Finding& finding : known_findings()) {
    auto statements = finding.find(evidence);
    std::stable_sort(statements.begin(), statements.end(),
                     [](const Statement& a, const Statement& b) { return place_of(a) < place_of(b); });
    if (!statements.empty()) said.push_back({finding.id, finding.describe, finding.place, std::move(statements)});
  }
  return said;
}

}  // namespace deepgap
