// The largest load that a peak search confirmed, with its confidence.
#include "analysis/finding.h"
#include "analysis/words.h"
#include "record/load_axis.h"
#include "record/point_option.h"
#include "stats/sign_confidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace deepgap {
namespace {

struct Confirmed {
  const Line* line;
  const PointSummary* point;
  double load;
  int runs, held;
};

Confirmed confirmed(const Line& line, const PointSummary& point, double load) {
  Confirmed found{&line, &point, load, 0, 0};
  for (const OutcomeCount& seen : point.outcomes) {
    if (seen.outcome != Outcome::ok || seen.verdict == Verdict::undecided) continue;
    found.runs += static_cast<int>(seen.count);
    if (seen.verdict != Verdict::invalid) found.held += static_cast<int>(seen.count);
  }
  return found;
}

// Joins the runs of a load that was run under several names (rate=107 and rate=107.0).
void join_equal_loads(std::vector<Confirmed>& loads) {
  std::sort(loads.begin(), loads.end(), [](const Confirmed& a, const Confirmed& b) { return a.load < b.load; });
  std::vector<Confirmed> joined;
  for (const Confirmed& each : loads) {
    if (joined.empty() || joined.back().load != each.load) {
      joined.push_back(each);
    } else {
      joined.back().runs += each.runs;
      joined.back().held += each.held;
    }
  }
  loads = std::move(joined);
}

// Returns both loads with enough digits to differ: "107 holds, at 107 none did" contradicts itself.
std::pair<std::string, std::string> apart(double load, double above) {
  constexpr int most = 12;
  for (int digits = 3; digits < most; ++digits) {
    if (format_significant(load, digits) != format_significant(above, digits))
      return {format_significant(load, digits), format_significant(above, digits)};
  }
  return {format_significant(load, most), format_significant(above, most)};
}

void add_statement(const Workload& workload, const Point& key, std::vector<Confirmed>& loads, std::vector<Statement>& statements) {
  join_equal_loads(loads);
  const auto all_held = [](const Confirmed& c) { return c.runs > 1 && c.held == c.runs; };
  const auto best = std::find_if(loads.rbegin(), loads.rend(), all_held);
  if (best == loads.rend()) return;
  const std::string unit = load_axis(key.scenario)->unit;
  const Confirmed* above = best == loads.rbegin() ? nullptr : &*std::prev(best);
  const auto [load, larger] = above == nullptr ? std::pair(format_significant(best->load), std::string()) : apart(best->load, above->load);
  Statement said;
  said.tone = Tone::result;
  said.points.push_back(best->point);
  said.headline = fmt::format("{}, {}: {} {} are the most that meet {}", workload.label, label_without_load_and_slo(*best->line), load,
                              unit, option_of(key, "bound", "the bound"));
  said.detail = fmt::format("{} of {} runs there met it: with {:.0f} % confidence at least half of all do.", best->held, best->runs,
                            100 * sign_confidence(best->runs, best->held));
  if (above != nullptr) {
    said.points.push_back(above->point);
    said.detail += fmt::format(" At {} {} of {} did.", larger, above->held, above->runs);
  }
  statements.push_back(std::move(said));
}

std::vector<Statement> find_peak_load(const Evidence& evidence) {
  std::vector<Statement> statements;
  for (const Workload& workload : evidence.workloads) {
    std::map<PointOnDevice, std::vector<Confirmed>> searches;
    for (const Line& line : workload.lines) {
      for (const PointSummary* point : line.points) {
        const auto load = load_of(point->point);
        if (option_of(point->point, "peak") != "confirm" || !load) continue;
        searches[{without_load(point->point), line.device}].push_back(confirmed(line, *point, *load));
      }
    }
    for (auto& [key, loads] : searches) add_statement(workload, key.point, loads, statements);
  }
  return statements;
}

const bool registered =
    register_finding({"peak_load", 7, find_peak_load,
                      "Loads that a peak search ran again to confirm: the largest that met the SLO in all its runs, and the next larger "
                      "one. The confidence that at least half of all runs meet the SLO is that of a sign test."});

}  // namespace
}  // namespace deepgap
