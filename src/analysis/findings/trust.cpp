// Reports how far the numbers can be trusted: points that did not settle, that were measured once, that nothing checked.
#include "analysis/finding.h"
#include "analysis/point_labels.h"
#include "analysis/words.h"
#include "record/published.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

template <typename Which>
std::vector<const PointSummary*> those_of(const std::vector<PointSummary>& points, Which which) {
  std::vector<const PointSummary*> found;
  for (const PointSummary& point : points) {
    if (which(point)) found.push_back(&point);
  }
  return found;
}

// Reasons differ in their numbers; the first stands for all.
std::string example_reason(const std::vector<PointSummary>& points, Verdict verdict) {
  for (const PointSummary& point : points) {
    if (point.verdict == verdict && !point.reason.empty())
      return fmt::format("For example {}: {}", PointLabels(points).of(point), point.reason);
  }
  return {};
}

std::string points_of(const std::vector<const PointSummary*>& found) {
  return count_of(static_cast<int64_t>(found.size()), "point", "points");
}

std::optional<Statement> check_statement(const std::vector<PointSummary>& points) {
  const PointSummary* worst = nullptr;
  std::vector<const PointSummary*> found;
  for (const PointSummary& point : points) {
    if (!point.usable() || !point.check || !point.check->pass) continue;
    found.push_back(&point);
    if (worst == nullptr || point.check->sqnr_db < worst->check->sqnr_db) worst = &point;
  }
  if (worst == nullptr) return std::nullopt;
  return Statement{Tone::note, points_of(found) + " checked before they were timed, and right",
                   fmt::format("The least exact is {}: {} dB against the {}.", PointLabels(points).of(*worst),
                               format_significant(worst->check->sqnr_db), worst->check->against),
                   found};
}

std::vector<Statement> find_trust(const Evidence& evidence) {
  const auto& points = evidence.results.points;
  std::vector<Statement> statements;
  const auto add = [&](Tone tone, const std::vector<const PointSummary*>& found, const std::string& what, const std::string& detail) {
    if (!found.empty()) statements.push_back({tone, points_of(found) + " " + what, detail, found});
  };
  add(Tone::warning, those_of(points, [](const auto& p) { return p.verdict == Verdict::unstable; }), "unstable",
      example_reason(points, Verdict::unstable));
  add(Tone::warning, those_of(points, [](const auto& p) { return p.verdict == Verdict::invalid; }), "invalid",
      example_reason(points, Verdict::invalid));
  add(Tone::warning, those_of(points, [](const auto& p) { return p.verdict == Verdict::undecided; }), "undecided",
      example_reason(points, Verdict::undecided));
  add(Tone::warning, those_of(points, [](const auto& p) { return p.unchecked && !is_published(p.point); }), "not checked",
      "Their outputs were not compared with a reference: --check was off, or no reference could be made.");
  add(Tone::note, those_of(points, [](const auto& p) { return p.verdict == Verdict::as_found; }), "without a target",
      "Their intervals had no target, or their windows were too short to see what lasts for seconds.");
  add(Tone::note, those_of(points, [](const auto& p) { return p.usable() && p.used == 1 && !is_published(p.point); }), "measured once",
      "Their intervals are within one run; how much another run would differ is not known.");
  if (auto checked = check_statement(points)) statements.push_back(*checked);
  return statements;
}

const bool registered =
    register_finding({"trust", 70, find_trust,
                      "Points that are unstable, undecided (inconclusive) or invalid, had no target, were measured by one repeat only, or "
                      "were not checked against a reference. They are kept and labelled, never dropped."});

}  // namespace
}  // namespace deepgap
