#include "cli/compare_text.h"

#include "analysis/ratio_text.h"
#include "analysis/words.h"
#include "base/dump_json.h"
#include "base/quantity.h"
#include "base/text.h"
#include "record/record_json.h"
#include "run/text_table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace deepgap {
namespace {

constexpr size_t most_facts = 12;

std::string value_text(const PointSummary& point, const std::string& metric) { return format_estimate(point.find(metric)->estimate); }

std::string ratio_text(const PointChange& change, const CompareSettings& settings) {
  if (!change.comparison.interval) return format_ratio(change.comparison.ratio);
  const RatioText text = ratio_text(change.comparison.ratio, *change.comparison.interval, {settings.margin, settings.gate_margin});
  return fmt::format("{} ({})", text.ratio, text.range);
}

std::string verdict_text(const PointChange& change, const CompareSettings& settings) {
  if (change.change == Change::same) return fmt::format("same within {}", chosen_percent_text(settings.margin));
  if (change.change != Change::unknown) return name_of(change.change);
  if (!change.comparison.interval) return "not enough data: " + why_too_few(change.comparison);
  if (change.needs_repeats == 0) return fmt::format("not enough data: detects {}", percent_text(change.smallest_effect, settings.margin));
  return fmt::format("not enough data: detects {}; {} needs {}", percent_text(change.smallest_effect, settings.margin),
                     chosen_percent_text(settings.margin),
                     change.comparison.repeats.over_nodes ? count_of(static_cast<int64_t>(change.needs_repeats), "node", "nodes")
                                                          : count_of(static_cast<int64_t>(change.needs_repeats), "repeat", "repeats"));
}

struct RowLabel {
  std::string common;      // what both sides are: "resnet50 · batch 1"
  std::string difference;  // "onnxruntime against native"; empty where they are alike
};

RowLabel row_label(const PointChange& change, const PointLabels& labels) {
  const std::string separator = " \u00b7 ";
  const auto parts_of = [&](const std::string& label) {
    std::vector<std::string> parts;
    size_t begin = 0;
    for (size_t at = label.find(separator); at != std::string::npos; at = label.find(separator, begin)) {
      parts.push_back(label.substr(begin, at - begin));
      begin = at + separator.size();
    }
    parts.push_back(label.substr(begin));
    return parts;
  };
  const std::vector<std::string> a = parts_of(labels.of(*change.a)), b = parts_of(labels.of(*change.b));
  const auto split_by = [](const std::vector<std::string>& from, const std::vector<std::string>& other, bool shared) {
    std::vector<std::string> parts;
    for (const std::string& part : from)
      if ((std::find(other.begin(), other.end(), part) != other.end()) == shared) parts.push_back(part);
    return parts;
  };
  const std::vector<std::string> only_a = split_by(a, b, false), only_b = split_by(b, a, false);
  RowLabel label{join(split_by(a, b, true), separator), {}};
  if (!only_a.empty() || !only_b.empty()) label.difference = fmt::format("{} against {}", join(only_b, separator), join(only_a, separator));
  return label;
}

// A difference that all rows have is in the titles of the columns.
std::vector<std::string> row_labels(const ResultsComparison& comparison, const PointLabels& labels) {
  std::vector<RowLabel> rows;
  for (const PointChange& change : comparison.points) rows.push_back(row_label(change, labels));
  const bool all_alike = std::all_of(rows.begin(), rows.end(),
                                     [&](const RowLabel& row) { return row.difference == rows.front().difference && !row.common.empty(); });
  std::vector<std::string> texts;
  for (const RowLabel& row : rows) {
    const bool shows = !row.difference.empty() && !all_alike;
    texts.push_back(!shows ? row.common : row.common.empty() ? row.difference : fmt::format("{} ({})", row.common, row.difference));
  }
  return texts;
}

// "a; b; c and 4 more": labels have commas of their own.
std::string first_of(std::vector<std::string> names) {
  constexpr size_t most = 3;
  const size_t more = names.size() > most ? names.size() - most : 0;
  names.resize(names.size() - more);
  return join(names, "; ") + (more > 0 ? fmt::format(" and {} more", more) : "");
}

std::vector<std::string> labels_of_points(const std::vector<const PointSummary*>& points, const PointLabels& labels) {
  std::vector<std::string> names;
  for (const PointSummary* point : points) names.push_back(labels.of(*point));
  return names;
}

// Returns what a side lacks: "crashed", "invalid", "no latency_p99_ms"; empty: nothing.
std::string lack_of(const PointSummary& point, const std::string& metric) {
  if (point.outcome != Outcome::ok) return std::string(name_of(point.outcome));
  if (!point.usable()) return std::string(name_of(point.verdict));
  const MetricSummary* found = point.find(metric);
  if (found == nullptr) return "no " + metric;
  return found->estimate.value > 0 ? "" : "no " + metric + " above 0";
}

std::string why_unusable(const PointSummary& a, const PointSummary& b, const std::string& metric, const ComparedSides& sides) {
  const std::string of_a = lack_of(a, metric), of_b = lack_of(b, metric);
  if (of_a == of_b) return (of_a.empty() ? "not every repeat has a " + metric + " above 0" : of_a + " in both");
  std::vector<std::string> parts;
  if (!of_a.empty()) parts.push_back(fmt::format("{} in {}", of_a, sides.a));
  if (!of_b.empty()) parts.push_back(fmt::format("{} in {}", of_b, sides.b));
  return join(parts, ", ");
}

// Returns notes about the Points that are in no row.
std::vector<std::string> unmatched_notes(const ResultsComparison& comparison, const CompareSettings& settings, const ComparedSides& sides,
                                         const PointLabels& labels) {
  std::vector<std::string> lines;
  const auto tell = [&](const std::vector<std::string>& names, const std::string& what) {
    if (names.empty()) return;
    lines.push_back(fmt::format("{} {}: {}", count_of(static_cast<int64_t>(names.size()), "point", "points"), what, first_of(names)));
  };
  tell(labels_of_points(comparison.only_a, labels), fmt::format("of {} without a match", sides.a));
  tell(labels_of_points(comparison.only_b, labels), fmt::format("of {} without a match", sides.b));
  std::vector<std::string> unusable;
  for (const auto& [a, b] : comparison.unusable)
    unusable.push_back(fmt::format("{} ({})", labels.of(*a), why_unusable(*a, *b, settings.metric, sides)));
  tell(unusable, "matched, but without a value of both to compare");
  return lines;
}

// Returns the note for all of them if none shares a run with its other side.
std::string apart_note(const ResultsComparison& comparison) {
  const auto apart = std::count_if(comparison.points.begin(), comparison.points.end(), [](const PointChange& p) { return p.apart; });
  if (apart == 0) return {};
  const bool all = static_cast<size_t>(apart) == comparison.points.size();
  return (all ? "the sides were" : count_of(apart, "point was", "points were")) +
         " measured at different times, so ratios include changes of the machine; measure both in one run with repeats";
}

// Returns what must be known before the figures are read.
std::vector<std::string> notes(const ResultsComparison& comparison, const CompareSettings& settings, const ComparedSides& sides,
                               const PointLabels& labels) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < comparison.environment.size() && i < most_facts; ++i) {
    const auto& [key, values] = comparison.environment[i];
    lines.push_back(fmt::format("{}: {} in {}, {} in {}", key, values.first, sides.a, values.second, sides.b));
  }
  if (comparison.environment.size() > most_facts)
    lines.push_back(fmt::format("{} more facts of the environment differ", comparison.environment.size() - most_facts));
  if (std::any_of(comparison.points.begin(), comparison.points.end(), [](const PointChange& p) { return p.other_device; }))
    lines.push_back("they are of different devices");
  if (std::string note = apart_note(comparison); !note.empty()) lines.push_back(std::move(note));
  const auto other_node =
      std::count_if(comparison.points.begin(), comparison.points.end(), [](const PointChange& p) { return p.other_node; });
  if (other_node > 0)
    lines.push_back(fmt::format("{} on one node each, and not the same one: ratios include differences between nodes, intervals do not",
                                count_of(other_node, "point was measured", "points were measured")));
  if (comparison.offered > 0)
    lines.push_back(fmt::format("{} left out, because throughput is the offered load there; --metric {} compares them",
                                count_of(static_cast<int64_t>(comparison.offered), "point", "points"), metric_of_open_loops));
  const auto unmatched = unmatched_notes(comparison, settings, sides, labels);
  lines.insert(lines.end(), unmatched.begin(), unmatched.end());
  return lines;
}

// Returns the row names of some of the comparison's points.
std::vector<std::string> names_of(const std::vector<const PointChange*>& changes, const ResultsComparison& comparison) {
  const std::vector<std::string> rows = row_labels(comparison, labels_of(comparison));
  std::vector<std::string> names;
  for (const PointChange* change : changes) names.push_back(rows.at(static_cast<size_t>(change - comparison.points.data())));
  return names;
}

// Returns "; 14 repeats of each side would tell (in 80 % of cases, at the ratios seen)".
std::string needed_text(const GateResult& found) {
  if (found.open.empty()) return {};
  const auto known = [](const PointChange* change) { return change->comparison.repeats.known(); };
  const bool some_unknown = !std::all_of(found.open.begin(), found.open.end(), known);
  std::string least = some_unknown ? fmt::format("; measure at least {} repeats of each side (--repeats {})", fewest_repeats, 5) : "";
  if (found.needs_repeats == 0) return least;
  const bool nodes =
      std::any_of(found.open.begin(), found.open.end(), [](const PointChange* c) { return c->comparison.repeats.over_nodes; });
  const auto count = static_cast<int64_t>(found.needs_repeats);
  return fmt::format("{}; {} of each side would be enough (in 80 % of cases, at the ratios seen)", least,
                     nodes ? count_of(count, "node", "nodes") : count_of(count, "repeat", "repeats"));
}

// "geometric mean of 10 points 0.970 (0.965 to 0.976)"
std::string together_text(const GateResult& found, const ResultsComparison& comparison) {
  const RatioText text = ratio_text(found.together->ratio, found.together->interval(), {found.margin});
  return fmt::format("geometric mean of {} points {} ({})", comparison.points.size(), text.ratio, text.range);
}

std::string counts_text(const ResultsComparison& comparison, const CompareSettings& settings) {
  std::vector<std::string> words;
  for (const Change change : {Change::slower, Change::faster, Change::same, Change::unknown}) {
    const auto n =
        std::count_if(comparison.points.begin(), comparison.points.end(), [&](const PointChange& p) { return p.change == change; });
    const std::string name = change == Change::same      ? fmt::format("same within {}", chosen_percent_text(settings.margin))
                             : change == Change::unknown ? std::string("not enough data")
                                                         : name_of(change);
    if (n > 0) words.push_back(fmt::format("{} {}", n, name));
  }
  return words.empty() ? std::string("nothing to compare") : join(words, ", ");
}

}  // namespace

PointLabels labels_of(const ResultsComparison& comparison) {
  std::array<PointLabels::Side, 2> sides;
  for (const PointChange& change : comparison.points) {
    sides[0].push_back(change.a);
    sides[1].push_back(change.b);
  }
  for (const auto& [a, b] : comparison.unusable) {
    sides[0].push_back(a);
    sides[1].push_back(b);
  }
  sides[0].insert(sides[0].end(), comparison.only_a.begin(), comparison.only_a.end());
  sides[1].insert(sides[1].end(), comparison.only_b.begin(), comparison.only_b.end());
  return PointLabels(sides);
}

namespace {

// "native" and "openvino" of "backend=native" and "backend=openvino": a narrow table has no room for what both share.
std::pair<std::string, std::string> short_titles(const ComparedSides& sides) {
  const size_t end = sides.a.find('=');
  const bool shared = end != std::string::npos && sides.b.compare(0, end + 1, sides.a, 0, end + 1) == 0;
  return shared ? std::pair(sides.a.substr(end + 1), sides.b.substr(end + 1)) : std::pair(sides.a, sides.b);
}

}  // namespace

std::string comparison_text(const ResultsComparison& comparison, const CompareSettings& settings, const ComparedSides& sides,
                            size_t width) {
  std::string text;
  const PointLabels labels = labels_of(comparison);
  for (const std::string& note : notes(comparison, settings, sides, labels)) text += wrapped_lines("note: " + note + "\n", width);
  const bool narrow = width > 0 && width < 110;
  const auto [title_a, title_b] = narrow ? short_titles(sides) : std::pair(sides.a, sides.b);
  TextColumn what{"point", false, row_labels(comparison, labels)}, a{title_a, true, {}}, b{title_b, true, {}}, ratio{"ratio", true, {}},
      verdict{"verdict", false, {}};
  bool cut = false;
  for (const PointChange& change : comparison.points) {
    a.cells.push_back(value_text(*change.a, settings.metric));
    b.cells.push_back(value_text(*change.b, settings.metric));
    ratio.cells.push_back(ratio_text(change, settings));
    const std::string words = verdict_text(change, settings);
    const std::string word = words.substr(0, words.find(": "));
    cut = cut || (narrow && word != words);
    verdict.cells.push_back(narrow ? word : words);
  }
  if (!comparison.points.empty())
    text += fitted_table({what, a, b, ratio, verdict}, width,  // names and verdicts before the values that the ratio is of
                         {{"point", 48},
                          {"point", 36},
                          {"verdict", 40},
                          {"verdict", 28},
                          {"verdict", 20},
                          {title_a, 0},
                          {title_b, 0},
                          {"point", 28},
                          {"point", 24},
                          {"point", 16}});
  if (cut) text += "(for the reasons of verdicts use --json, or a terminal with 110 columns)\n";
  return text + fmt::format("{}, {} against {}: {}\n", settings.metric, sides.b, sides.a, counts_text(comparison, settings));
}

std::string comparison_markdown(const ResultsComparison& comparison, const CompareSettings& settings, const ComparedSides& sides) {
  std::string text = fmt::format("**{}, {} against {}**: {}\n\n| point | {} | {} | ratio | verdict |\n| --- | ---: | ---: | ---: | --- |\n",
                                 settings.metric, sides.b, sides.a, counts_text(comparison, settings), sides.a, sides.b);
  const PointLabels labels = labels_of(comparison);
  const std::vector<std::string> rows = row_labels(comparison, labels);
  for (size_t i = 0; i < rows.size(); ++i) {
    const PointChange& change = comparison.points[i];
    text += fmt::format("| {} | {} | {} | {} | {} |\n", rows[i], value_text(*change.a, settings.metric),
                        value_text(*change.b, settings.metric), ratio_text(change, settings), verdict_text(change, settings));
  }
  for (const std::string& note : notes(comparison, settings, sides, labels)) text += "\n- " + note;
  return text + "\n";
}

ComparedStores compared_stores(const ResultsComparison& comparison, const CompareSettings& settings, const ComparedSides& sides) {
  const PointLabels labels = labels_of(comparison);
  ComparedStores compared{settings.metric,
                          sides.a,
                          sides.b,
                          settings.margin,
                          counts_text(comparison, settings),
                          {},
                          notes(comparison, settings, sides, labels)};
  const std::vector<std::string> rows = row_labels(comparison, labels);
  for (size_t i = 0; i < rows.size(); ++i) {
    const PointChange& change = comparison.points[i];
    ComparedPoint point{{rows[i], change.comparison.ratio, {}, {}, change.change == Change::unknown, {}},
                        value_text(*change.a, settings.metric),
                        value_text(*change.b, settings.metric),
                        ratio_text(change, settings),
                        verdict_text(change, settings)};
    if (change.comparison.interval) {
      point.row.low = change.comparison.interval->low;
      point.row.high = change.comparison.interval->high;
    }
    point.row.tip = point.ratio + ", " + point.verdict;
    compared.points.push_back(std::move(point));
  }
  return compared;
}

std::string gate_text(const GateAnswer& gate, const ResultsComparison& comparison) {
  const std::string head = fmt::format("gate (slower by more than {}): {}", chosen_percent_text(gate.margin), gate.result);
  if (!gate.judged) return head + "\n";
  const GateResult& found = *gate.judged;
  const std::string all = fmt::format("of {}", count_of(static_cast<int64_t>(comparison.points.size()), "point", "points"));
  if (found.gate == Gate::slower) {
    std::vector<std::string> slower;
    if (found.together_slower) slower.push_back(together_text(found, comparison));
    if (!found.slower.empty())
      slower.push_back(fmt::format("{} {}: {}", found.slower.size(), all, first_of(names_of(found.slower, comparison))));
    return fmt::format("{}: {}\n", head, join(slower, "; "));
  }
  if (found.gate == Gate::held) return head + "\n";
  std::vector<std::string> parts;
  if (!found.open.empty()) parts.push_back(fmt::format("{} {}", found.open.size(), all));
  if (found.left_out > 0)
    parts.push_back(fmt::format("{} without values of both sides", count_of(static_cast<int64_t>(found.left_out), "point", "points")));
  return fmt::format("{}: {}{}\n", head, join(parts, ", "), needed_text(found));
}

namespace {

nlohmann::json gate_json(const GateAnswer& gate, const ResultsComparison& comparison) {
  nlohmann::json json{{"margin", gate.margin}, {"result", gate.result}};
  if (!gate.judged) return json;
  if (!gate.judged->slower.empty()) json["slower"] = names_of(gate.judged->slower, comparison);
  if (const auto& together = gate.judged->together) {
    const Interval interval = together->interval();
    json["together"] = {
        {"ratio", together->ratio}, {"low", interval.low}, {"high", interval.high}, {"slower", gate.judged->together_slower}};
  }
  if (gate.judged->needs_repeats > 0) json["needs_repeats"] = gate.judged->needs_repeats;
  return json;
}

}  // namespace

std::string comparison_json(const ResultsComparison& comparison, const CompareSettings& settings, const ComparedSides& sides,
                            const std::optional<GateAnswer>& gate) {
  nlohmann::json list = nlohmann::json::array();
  const PointLabels labels = labels_of(comparison);
  for (const PointChange& change : comparison.points) {
    nlohmann::json entry{{"a", labels.of(*change.a)},
                         {"b", labels.of(*change.b)},
                         {"point_id", change.a->point_id},
                         {"ratio", change.comparison.ratio},
                         {"low", nullptr},
                         {"high", nullptr},
                         {"verdict", name_of(change.change)},
                         {"needs_repeats", nullptr},
                         {"smallest_effect", nullptr},
                         {"repeats", change.comparison.repeats.repeats},
                         {"paired", change.comparison.repeats.paired},
                         {"over_nodes", change.comparison.repeats.over_nodes}};
    if (change.comparison.interval) entry.update({{"low", change.comparison.interval->low}, {"high", change.comparison.interval->high}});
    if (change.needs_repeats > 0) entry["needs_repeats"] = change.needs_repeats;
    if (std::isfinite(change.smallest_effect)) entry["smallest_effect"] = change.smallest_effect;
    list.push_back(std::move(entry));
  }
  nlohmann::json json{{"metric", settings.metric},
                      {"a", sides.a},
                      {"b", sides.b},
                      {"margin", settings.margin},
                      {"comparisons", list},
                      {"notes", notes(comparison, settings, sides, labels)},
                      {"only_a", comparison.only_a.size()},
                      {"only_b", comparison.only_b.size()},
                      {"gate", nullptr}};
  if (gate) json["gate"] = gate_json(*gate, comparison);
  return dump_indented(json);
}

}  // namespace deepgap
