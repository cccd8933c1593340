#include "analysis/finding.h"

#include "base/registry.h"

#include <algorithm>

namespace deepgap {

std::vector<FindingStatements> all_findings(const Evidence& evidence) {
  std::vector<std::unique_ptr<Finding>> findings;
  const auto& registry = Registry<Finding>::instance();
  for (const std::string& name : registry.names()) findings.push_back(registry.make("finding", name));
  std::stable_sort(findings.begin(), findings.end(), [](const auto& a, const auto& b) { return a->order() < b->order(); });
  std::vector<FindingStatements> said;
  for (const auto& finding : findings) {
    auto statements = finding->find(evidence);
    std::stable_sort(statements.begin(), statements.end(), [](const Statement& a, const Statement& b) { return a.effect > b.effect; });
    if (!statements.empty()) said.push_back({finding->id(), finding->describe(), finding->place(), std::move(statements)});
  }
  return said;
}

}  // namespace deepgap
