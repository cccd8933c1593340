// The end of a run: a table of its Points, the failures by name, and the exit code that scripts rely on.
#pragma once

#include "analysis/point_summary.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace deepgap {

struct Failure {
  std::string label, text;  // "resnet18 null fp32 batch 4", "crashed: the worker ended ..."
  int repeat = 0;
  std::string of_verdict = {};  // point_id, where it ran and its verdict is all: what the repeats say together goes before it
  std::string together = {};    // that, in words
};
// If a Point's repeats were judged together, keeps that verdict alone; a Record that is usable by it is no failure.
void judge_together(std::vector<Failure>& failures, const std::vector<PointSummary>& points, bool strict);
// Returns a line for each Point and text: "LABEL repeat 2: TEXT", or "LABEL (30 records): TEXT". Repeats are named if there are some.
std::vector<std::string> failure_lines(const std::vector<Failure>& failures, bool repeated);

// Returns the verdict as people read it: "no target" if none was asked for, "inconclusive" if it could not be shown.
std::string verdict_words(Verdict verdict);

// Returns whether the Record counts as one that can be used: ok and valid, skipped, and, unless `strict`, unstable.
bool is_usable(const Record& record, bool strict);

// Returns a table at most `width` columns wide, 0: as wide as it is. Otherwise long names are shortened and columns left out, which a last
// line says. `percentiles` of latency that are metrics get a column each, beside p50 and p99.
std::string summary_table(const std::vector<PointSummary>& points, size_t width = 0, const std::vector<double>& percentiles = {});
nlohmann::json summary_json(const std::vector<PointSummary>& points);

}  // namespace deepgap
