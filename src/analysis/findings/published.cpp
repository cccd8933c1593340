// Reports what is not ours: points that others published, where their tables contradict themselves, and what the prices lack.
#include "record/published.h"
#include "analysis/finding.h"
#include "analysis/words.h"
#include "record/averaged.h"

#include <fmt/format.h>

#include <set>

namespace deepgap {
namespace {

std::optional<Statement> published_points(const std::vector<PointSummary>& points) {
  std::set<std::string> sources;
  std::vector<const PointSummary*> found;
  for (const PointSummary& point : points) {
    if (!is_published(point.point)) continue;
    sources.insert(publisher_of(point.point));
    found.push_back(&point);
  }
  if (found.empty()) return std::nullopt;
  const auto count = static_cast<int64_t>(found.size());
  return Statement{Tone::note,
                   fmt::format("{} published by {}, not measured by deepgap", count_of(count, "point was", "points were"),
                               list_of({sources.begin(), sources.end()})),
                   "They were neither repeated nor checked here; their option `published` says so in every row.", found};
}

std::optional<Statement> averaged_points(const std::vector<PointSummary>& points) {
  std::vector<const PointSummary*> found;
  for (const PointSummary& point : points) {
    if (is_averaged(point.point)) found.push_back(&point);
  }
  if (found.empty()) return std::nullopt;
  return Statement{Tone::note,
                   fmt::format("{} imported as averages, whose repeats are not here",
                               count_of(static_cast<int64_t>(found.size()), "point was", "points were")),
                   "They are rows by point of an export; their option `averaged` says so in every row. Only what had an interval "
                   "there has one here.",
                   found};
}

std::optional<Statement> contradictions(const FactTable& facts) {
  constexpr std::string_view prefix = "published.contradiction.";
  std::vector<std::string> said;
  int64_t cells = 0;
  for (auto fact = facts.lower_bound(std::string(prefix)); fact != facts.end() && fact->first.starts_with(prefix); ++fact) {
    cells += fact->second.others;
    for (const auto& [text, count] : fact->second.counts) {
      cells += count;
      said.push_back(fmt::format("{} of {}", fact->first.substr(prefix.size()), text));
    }
  }
  if (cells == 0) return std::nullopt;
  return Statement{Tone::warning,
                   fmt::format("{} the others of their row; recomputed values are shown",
                               count_of(cells, "published cell contradicts", "published cells contradict")),
                   list_of(said, 12) + ".",
                   {}};
}

std::vector<Statement> find_published(const Evidence& evidence) {
  const Results& results = evidence.results;
  std::vector<Statement> statements;
  if (auto said = published_points(results.points)) statements.push_back(std::move(*said));
  if (auto said = averaged_points(results.points)) statements.push_back(std::move(*said));
  if (auto said = contradictions(results.facts)) statements.push_back(std::move(*said));
  for (const std::string& note : results.price_notes) statements.push_back({Tone::note, note, "Its points have no cost.", {}});
  return statements;
}

const bool registered = register_finding({"published", 69, find_published,
                                          "Points imported from published tables or from averages of an export. Cells of tables that "
                                          "disagree with the rest of their row beyond rounding. Devices without a price."});

}  // namespace
}  // namespace deepgap
