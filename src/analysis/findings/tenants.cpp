// Reports what tenants of one device cost each other.
#include "analysis/finding.h"
#include "analysis/interference.h"
#include "analysis/words.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

std::vector<Statement> find_tenants(const Evidence& evidence) {
  std::vector<Statement> statements;
  for (const TenantSet& set : tenant_sets(evidence.results.points)) {
    Statement statement;
    statement.headline = set.label();
    std::vector<std::string> kept;
    for (const TenantInterference& tenant : set.tenants) {
      if (tenant.throughput) kept.push_back(format_ratio(tenant.throughput->ratio));
      statement.detail += interference_words(tenant) + ". ";
      for (const PointSummary* point : {tenant.together, tenant.alone}) statement.points.push_back(point);
    }
    statement.headline += fmt::format(": they keep {} of their throughput alone", list_of(kept));
    statement.detail += work_words(set);
    statements.push_back(std::move(statement));
  }
  return statements;
}

const bool registered = register_finding(
    {"tenants", 52, find_tenants,
     "Tenants that were measured together, each against itself alone: ratios of throughput and p99 latency with their intervals. Where "
     "every tenant takes all it can get, the sum of the throughput ratios says how many devices' work they do together."});

}  // namespace
}  // namespace deepgap
