// Reports what did not run and why, grouped by cause.
#include "analysis/finding.h"
#include "analysis/words.h"
#include "base/text.h"
#include "base/words.h"
#include "record/record_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace deepgap {
namespace {

struct Cause {
  Outcome outcome;
  std::string reason;
  auto operator<=>(const Cause&) const = default;
};
struct Extent {
  int64_t records = 0;
  std::vector<const PointSummary*> points;
  std::set<std::string> models, backends;
  std::string stderr_tail;  // stderr of the first failure that has some
};

// The last lines, which nearly always say why.
std::string last_words(const std::string& stderr_tail) {
  constexpr size_t most_lines = 3;
  std::vector<std::string> lines = split(trim(stderr_tail), '\n');
  if (lines.size() > most_lines) lines.erase(lines.begin(), lines.end() - most_lines);
  return one_line(join(lines, " "));
}

std::string words_for(Outcome outcome) {
  switch (outcome) {
    case Outcome::out_of_memory:
      return "ran out of memory";
    case Outcome::timed_out:
      return "timed out";
    case Outcome::device_lost:
      return "lost the device";
    case Outcome::incorrect:
      return "gave incorrect results";
    case Outcome::refused:
    case Outcome::skipped:
    case Outcome::interrupted:
      return "was " + std::string(name_of(outcome));
    default:
      return std::string(name_of(outcome));
  }
}

Statement failures_statement(const Cause& cause, Extent extent) {
  const bool intended = cause.outcome == Outcome::skipped || cause.outcome == Outcome::refused || cause.outcome == Outcome::interrupted;
  Statement statement{intended ? Tone::note : Tone::failure, {}, cause.reason, std::move(extent.points)};
  const auto listed = [](const std::set<std::string>& names) { return list_of({names.begin(), names.end()}, 4); };
  const auto points = static_cast<int64_t>(statement.points.size());
  statement.headline = fmt::format("{} on {} {}: {} of {}", listed(extent.models), listed(extent.backends), words_for(cause.outcome),
                                   count_of(extent.records, "record", "records"), count_of(points, "point", "points"));
  if (statement.detail.empty()) statement.detail = "No reason was recorded.";
  const std::string said = last_words(extent.stderr_tail);
  if (!said.empty() && cause.reason.find(said) == std::string::npos)
    statement.detail += fmt::format("; the end of its standard error: {}", said);
  return statement;
}

std::vector<Statement> find_failures(const Evidence& evidence) {
  std::map<Cause, Extent> causes;
  for (const PointSummary& point : evidence.results.points) {
    for (const OutcomeCount& seen : point.outcomes) {
      if (seen.outcome == Outcome::ok) continue;
      Extent& extent = causes[{seen.outcome, seen.reason}];
      extent.records += seen.count;
      extent.points.push_back(&point);
      extent.models.insert(point.point.model);
      extent.backends.insert(point.point.backend);
      if (extent.stderr_tail.empty()) extent.stderr_tail = seen.stderr_tail;
    }
  }
  std::vector<std::pair<Cause, Extent>> sorted(causes.begin(), causes.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second.records > b.second.records; });
  std::vector<Statement> statements;
  for (auto& [cause, extent] : sorted) statements.push_back(failures_statement(cause, std::move(extent)));
  return statements;
}

const bool registered =
    register_finding({"failures", 60, find_failures, "Records whose outcome is not ok, grouped by outcome and reason.", Place::failures});

}  // namespace
}  // namespace deepgap
