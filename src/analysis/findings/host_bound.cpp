// Where the GPU waits for the host: its idle share while it was measured.
#include "analysis/finding.h"
#include "analysis/words.h"
#include "base/registry.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

constexpr double idle_limit = 0.1;  // below, noise of a sampled utilization

struct Waiting {
  std::vector<const PointSummary*> idle;  // the most idle first
  size_t known = 0;
};

Waiting waiting_of(const Workload& workload) {
  const auto share = [](const PointSummary* point) { return point->find("device_idle_share")->estimate.value; };
  Waiting waiting;
  for (const Line& line : workload.lines) {
    for (const PointSummary* point : line.points) {
      if (!point->usable() || point->find("device_idle_share") == nullptr) continue;
      ++waiting.known;
      if (share(point) > idle_limit) waiting.idle.push_back(point);
    }
  }
  std::stable_sort(waiting.idle.begin(), waiting.idle.end(), [&](const auto* a, const auto* b) { return share(a) > share(b); });
  return waiting;
}

class HostBound final : public Finding {
 public:
  std::string id() const override { return "host_bound"; }
  int order() const override { return 30; }
  std::string describe() const override {
    return "Points whose GPU was idle for more than a tenth of the measured window: the host, not the GPU, sets their speed.";
  }
  std::vector<Statement> find(const Evidence& evidence) const override {
    std::vector<Statement> statements;
    for (const Workload& workload : evidence.workloads) {
      const Waiting waiting = waiting_of(workload);
      if (!waiting.idle.empty()) statements.push_back(statement(workload, waiting));
    }
    return statements;
  }

 private:
  static Statement statement(const Workload& workload, const Waiting& waiting) {
    const PointSummary& worst = *waiting.idle.front();
    Statement statement{Tone::note, "", "", {}};
    statement.headline = fmt::format("{}: {} of {} points are host-bound", workload.label, waiting.idle.size(), waiting.known);
    statement.detail = fmt::format("The most is {}: its GPU is idle for {} of the time.", point_label(worst),
                                   format_percent(worst.find("device_idle_share")->estimate.value));
    for (const PointSummary* point : waiting.idle) statement.point_ids.push_back(point->point_id);
    return statement;
  }
};

const bool registered = Registry<Finding>::instance().add("host_bound", [] { return std::make_unique<HostBound>(); });

}  // namespace
}  // namespace deepgap
