// The largest load under which a latency bound was held, and why not under a larger one.
#include "analysis/finding.h"
#include "analysis/words.h"
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

std::map<PointOnDevice, std::vector<Loaded>> alike_but_rate(const Workload& workload) {
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

std::string at(const Loaded& loaded) { return loaded.rate > 0 ? fmt::format(" at {}", format_significant(loaded.rate)) : std::string(); }

// One run that misses the bound is enough: a mean over repeats hides it.
bool fails(const Loaded& loaded) {
  const auto& outcomes = loaded.point->outcomes;
  return std::any_of(outcomes.begin(), outcomes.end(),
                     [](const OutcomeCount& seen) { return seen.outcome == Outcome::ok && seen.verdict == Verdict::invalid; });
}

bool is_untold(const Loaded& loaded) { return loaded.point->verdict == Verdict::undecided && !fails(loaded); }

// The first of `decided` does.
void say_what_holds(const std::vector<Loaded>& decided, const std::string& bound, const std::string& open, Statement& said) {
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

Statement latency_bounds_statement(const Workload& workload, const std::vector<Loaded>& points) {
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

std::vector<Statement> find_latency_bounds(const Evidence& evidence) {
  std::vector<Statement> statements;
  for (const Workload& workload : evidence.workloads) {
    for (auto& [key, points] : alike_but_rate(workload)) {
      std::sort(points.begin(), points.end(), [](const Loaded& a, const Loaded& b) { return a.rate < b.rate; });
      statements.push_back(latency_bounds_statement(workload, points));
    }
  }
  return statements;
}

const bool registered = register_finding({"latency_bounds", 8, find_latency_bounds,
                                          "Points that ran under a latency SLO and differ only in rate, outside of a peak search. Shows "
                                          "the largest load that met the SLO, and why the next one did not or is inconclusive."});

}  // namespace
}  // namespace deepgap
