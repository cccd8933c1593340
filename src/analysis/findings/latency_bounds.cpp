// Which Points held the latency bound that was asked of them, and why the others did not.
#include "analysis/finding.h"
#include "analysis/words.h"
#include "base/registry.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

class LatencyBounds final : public Finding {
 public:
  std::string id() const override { return "latency_bounds"; }
  int order() const override { return 8; }
  std::string describe() const override {
    return "Points that ran under a bound on a percentile of latency: valid where they held it, else invalid with the reason.";
  }
  std::vector<Statement> find(const Evidence& evidence) const override {
    std::vector<Statement> statements;
    for (const PointSummary& point : evidence.results.points) {
      const auto bound = point.point.options.find("bound");
      if (bound == point.point.options.end() || point.outcome != Outcome::ok) continue;
      statements.push_back(statement(point, bound->second));
    }
    return statements;
  }

 private:
  static Statement statement(const PointSummary& point, const std::string& bound) {
    const std::string label = point_label(point);
    if (point.verdict == Verdict::invalid) return {Tone::warning, label + ": invalid", point.reason, {point.point_id}};
    const MetricSummary* p99 = point.find("latency_p99_ms");
    const MetricSummary* rate = point.find("achieved_rate");
    std::string detail = p99 == nullptr ? "" : fmt::format("p99 latency {} ms", format_estimate(p99->estimate));
    if (rate != nullptr) detail += fmt::format(", {} queries a second answered", format_estimate(rate->estimate));
    return {Tone::result, fmt::format("{}: holds {}", label, bound), detail.empty() ? detail : detail + ".", {point.point_id}};
  }
};

const bool registered = Registry<Finding>::instance().add("latency_bounds", [] { return std::make_unique<LatencyBounds>(); });

}  // namespace
}  // namespace deepgap
