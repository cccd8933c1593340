// Reports what tenants of one device cost each other.
#include "analysis/finding.h"
#include "analysis/interference.h"
#include "analysis/words.h"
#include "base/registry.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

class Tenants final : public Finding {
 public:
  std::string id() const override { return "tenants"; }
  int order() const override { return 52; }
  std::string describe() const override {
    return "Tenants that were measured together, each against itself alone: ratios of throughput and p99 latency with their intervals. "
           "Where "
           "every tenant takes all it can get, the sum of the throughput ratios says how many devices' work they do together.";
  }
  std::vector<Statement> find(const Evidence& evidence) const override {
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
};

const bool registered = Registry<Finding>::instance().add("tenants", [] { return std::make_unique<Tenants>(); });

}  // namespace
}  // namespace deepgap
