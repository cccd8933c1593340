// The largest load under which a latency bound was held, and why not under a larger one.
#include "analysis/finding.h"
#include "analysis/words.h"
#include "base/registry.h"
#include "record/point_option.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

namespace deepgap {
namespace {

struct Loaded {
  const Line* line;
  const PointSummary* point;
  double rate;  // queries answered a second
};

class LatencyBounds final : public Finding {
 public:
  std::string id() const override { return "latency_bounds"; }
  int order() const override { return 8; }
  std::string describe() const override {
    return "Points that ran under a latency SLO and differ only in rate, outside of a peak search. Shows the largest load that met the "
           "SLO, "
           "and why the next one did not or is inconclusive.";
  }
  std::vector<Statement> find(const Evidence& evidence) const override {
    std::vector<Statement> statements;
    for (const Workload& workload : evidence.workloads) {
      for (auto& [key, points] : alike_but_rate(workload)) {
        std::sort(points.begin(), points.end(), [](const Loaded& a, const Loaded& b) { return a.rate < b.rate; });
        statements.push_back(statement(workload, points));
      }
    }
    return statements;
  }

 private:
  static std::map<PointOnDevice, std::vector<Loaded>> alike_but_rate(const Workload& workload) {
    std::map<PointOnDevice, std::vector<Loaded>> groups;
    for (const Line& line : workload.lines) {
      for (const PointSummary* point : line.points) {
        if (option_of(point->point, "bound").empty() || !option_of(point->point, "peak").empty() || point->outcome != Outcome::ok) continue;
        PointOnDevice key = point->on_device();
        key.point.options.erase("rate");
        const MetricSummary* rate = point->find("achieved_rate");
        groups[key].push_back({&line, point, rate == nullptr ? 0 : rate->estimate.value});
      }
    }
    return groups;
  }

  static std::string at(const Loaded& loaded) {
    return loaded.rate > 0 ? fmt::format(" at {}", format_significant(loaded.rate)) : std::string();
  }

  // One run that misses the bound is enough: a mean over repeats hides it.
  static bool fails(const Loaded& loaded) {
    const auto& outcomes = loaded.point->outcomes;
    return std::any_of(outcomes.begin(), outcomes.end(),
                       [](const OutcomeCount& seen) { return seen.outcome == Outcome::ok && seen.verdict == Verdict::invalid; });
  }
  static bool is_untold(const Loaded& loaded) { return loaded.point->verdict == Verdict::undecided && !fails(loaded); }

  static Statement statement(const Workload& workload, const std::vector<Loaded>& points) {
    const Loaded& any = points.front();
    const std::string bound = option_of(any.point->point, "bound");
    Statement said;
    for (const Loaded& loaded : points) said.points.push_back(loaded.point);
    said.headline = fmt::format("{}, {}, batch {}: ", workload.label, label_without_load_and_slo(*any.line), any.point->point.batch);
    const auto untold = std::find_if(points.begin(), points.end(), is_untold);
    const std::string open = untold == points.end() ? "" : fmt::format(" It is inconclusive{}: {}", at(*untold), untold->point->reason);
    std::vector<Loaded> decided;
    std::remove_copy_if(points.begin(), points.end(), std::back_inserter(decided), is_untold);
    if (decided.empty()) {
      said.tone = Tone::note;
      said.headline += fmt::format("{} is inconclusive", bound);
      said.detail = any.point->reason;
    } else if (fails(decided.front())) {
      said.tone = Tone::warning;
      said.headline += fmt::format("{} is missed", bound);
      said.detail = decided.front().point->reason + (open.empty() ? "" : ".") + open;
    } else {
      said.tone = Tone::result;
      say_what_holds(decided, bound, open, said);
    }
    return said;
  }

  // The first of `decided` does.
  static void say_what_holds(const std::vector<Loaded>& decided, const std::string& bound, const std::string& open, Statement& said) {
    const auto failed = std::find_if(decided.begin(), decided.end(), fails);
    const Loaded& best = *std::prev(failed);
    said.headline += fmt::format("meets {}", bound);
    if (best.rate > 0) said.headline += fmt::format(" at {} queries a second", format_significant(best.rate));
    if (const MetricSummary* p99 = best.point->find("latency_p99_ms"))
      said.detail = fmt::format("p99 latency {} ms there.", format_estimate(p99->estimate));
    if (failed != decided.end()) {
      said.detail += fmt::format(" At {} it is missed: {}", format_significant(failed->rate), failed->point->reason);
    } else {
      said.detail += open.empty() ? " It is the largest load measured." : open;
    }
  }
};

const bool registered = Registry<Finding>::instance().add("latency_bounds", [] { return std::make_unique<LatencyBounds>(); });

}  // namespace
}  // namespace deepgap
