#include "published/relations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

// target = constant x product of factors; `above` are multiplied, `below` divide.
struct Relation {
  const char* target;
  double constant;
  std::vector<const char*> above, below;
  double slack = 1e-9;  // how far, as a share, the two may be apart beyond rounding
};
constexpr double of_two_clocks = 0.01;

const std::vector<Relation>& relations() {
  static const std::vector<Relation> all{
      {"throughput", 1, {"items"}, {"steady_s"}, of_two_clocks},      {"throughput_median", 1000, {"batch"}, {"latency_p50_ms"}},
      {"throughput", 1000, {"batch"}, {"step_ms"}, of_two_clocks},    {"throughput_per_device", 1, {"throughput"}, {"device_count"}},
      {"cost_of_run", 1.0 / 3600, {"cost_per_hour", "steady_s"}, {}}, {"cost_per_1000_items", 1 / 3.6, {"cost_per_hour"}, {"throughput"}},
      {"cost_per_1000_items", 1000, {"cost_of_run"}, {"items"}},      {"energy_j_per_item", 1, {"power_w"}, {"throughput"}},
      {"items_per_s_per_w", 1, {"throughput"}, {"power_w"}},          {"intensity", 1, {"gflop_per_s"}, {"dram_gb_per_s"}},
  };
  return all;
}

using Row = std::map<std::string, Printed>;

struct Range {
  double low, value, high;
};

Range range_of(const Printed& p) { return {p.value - p.half_unit, p.value, p.value + p.half_unit}; }
bool meet(const Range& a, const Range& b, double slack = 1e-9) {
  const double apart = slack * std::abs(a.value);
  return a.low <= b.high + apart && b.low <= a.high + apart;
}

// Returns nullopt if a column is missing, or has no positive value.
std::optional<Range> expected_by(const Relation& relation, const Row& row) {
  Range expected{relation.constant, relation.constant, relation.constant};
  const auto positive = [&](const char* name) -> const Printed* {
    const auto found = row.find(name);
    return found == row.end() || !(found->second.value > found->second.half_unit) ? nullptr : &found->second;
  };
  for (const char* name : relation.above) {
    const Printed* factor = positive(name);
    if (factor == nullptr) return std::nullopt;
    const Range range = range_of(*factor);
    expected = {expected.low * range.low, expected.value * range.value, expected.high * range.high};
  }
  for (const char* name : relation.below) {
    const Printed* divisor = positive(name);
    if (divisor == nullptr) return std::nullopt;
    const Range range = range_of(*divisor);
    expected = {expected.low / range.high, expected.value / range.value, expected.high / range.low};
  }
  return expected;
}

// Prints the formula in the cells' units: what the columns' factors make of the constant belongs to it.
std::string formula_of(const Relation& relation, const Row& row) {
  double constant = relation.constant / row.at(relation.target).factor;
  std::string text;
  for (const char* name : relation.above) {
    const Printed& printed = row.at(name);
    constant *= printed.factor;
    text += (text.empty() ? "" : " * ") + printed.column;
  }
  for (const char* name : relation.below) {
    const Printed& printed = row.at(name);
    constant /= printed.factor;
    text += " / " + printed.column;
  }
  if (constant >= 1 - 1e-12 && constant <= 1 + 1e-12) return text;
  return constant > 1 ? fmt::format("{} * {:.6g}", text, constant) : fmt::format("{} / {:.6g}", text, 1 / constant);
}

// The first relation for each target that the row has all columns of.
std::vector<std::pair<const Relation*, Range>> checks_of(const Row& row) {
  std::vector<std::pair<const Relation*, Range>> checks;
  for (const Relation& relation : relations()) {
    const auto same = [&](const auto& check) { return std::string_view(check.first->target) == relation.target; };
    if (row.count(relation.target) == 0 || std::any_of(checks.begin(), checks.end(), same)) continue;
    if (const auto expected = expected_by(relation, row)) checks.emplace_back(&relation, *expected);
  }
  return checks;
}

bool is_input(const Relation& relation, const std::string& name) {
  const auto has = [&](const auto& names) { return std::find(names.begin(), names.end(), name) != names.end(); };
  return has(relation.above) || has(relation.below);
}

}  // namespace

double half_unit_of(const std::string& text) {
  const size_t exponent = text.find_first_of("eE");
  const std::string digits = text.substr(0, exponent);
  const size_t point = digits.find('.');
  const int decimals = point == std::string::npos ? 0 : static_cast<int>(digits.size() - point - 1);
  const int power = exponent == std::string::npos ? 0 : std::atoi(text.c_str() + exponent + 1);
  return 0.5 * std::pow(10.0, power - decimals);
}

std::vector<Contradiction> contradictions_in(const Row& row) {
  std::vector<Contradiction> found;
  const auto checks = checks_of(row);
  for (const auto& [relation, expected] : checks) {
    const Printed& printed = row.at(relation->target);
    if (meet(range_of(printed), expected, relation->slack)) continue;
    const auto in_cell = [](const Printed& cell, double value) { return value / cell.factor; };
    found.push_back({0, printed.column, in_cell(printed, printed.value), in_cell(printed, expected.value), formula_of(*relation, row),
                     relation->target});
    for (const auto& [name, other] : row) {
      const auto of_other = [&, &name = name](const auto& check) { return name == check.first->target; };
      const double shown = in_cell(other, other.value), half = other.half_unit / other.factor;
      const Range in_other{shown - half, shown, shown + half};
      const Range wanted{in_cell(printed, expected.low), in_cell(printed, expected.value), in_cell(printed, expected.high)};
      if (name == relation->target || is_input(*relation, name) || std::any_of(checks.begin(), checks.end(), of_other)) continue;
      if (half == 0 || !meet(in_other, wanted)) continue;
      found.push_back({0, other.column, shown, in_cell(printed, printed.value),
                       fmt::format("{} and {} stand in each other's place", printed.column, other.column), name});
    }
  }
  return found;
}

}  // namespace deepgap
