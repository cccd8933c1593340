#include "analysis/results.h"

#include "analysis/words.h"

#include <algorithm>

namespace deepgap {
namespace {

constexpr size_t kept_values = 12;

std::optional<double> number_of(const Fact& fact) {
  if (const auto* whole = std::get_if<int64_t>(&fact)) return static_cast<double>(*whole);
  if (const auto* number = std::get_if<double>(&fact)) return *number;
  return std::nullopt;
}

void add_facts(FactTable& table, const Facts& facts, int64_t count) {
  for (const auto& [key, fact] : facts) {
    FactValues& values = table[key];
    const std::string text = format_fact(fact);
    const auto seen = values.counts.find(text);
    if (seen != values.counts.end()) {
      seen->second += count;
    } else if (values.counts.size() < kept_values) {
      values.counts.emplace(text, count);
    } else {
      values.others += count;
    }
    if (const auto number = number_of(fact)) {
      values.least = std::min(values.least.value_or(*number), *number);
      values.most = std::max(values.most.value_or(*number), *number);
    }
  }
}

}  // namespace

std::string only_value(const FactTable& table, const std::string& key) {
  const auto found = table.find(key);
  if (found == table.end() || found->second.counts.size() != 1 || found->second.others > 0) return {};
  return found->second.counts.begin()->first;
}

void ResultsCollector::add(const Record& record) {
  points_.add(record);
  // Records of one worker share their environment: comparing is much cheaper than writing every fact as text.
  if (same_environment_ > 0 && record.environment != last_environment_) {
    add_facts(results_.environment, last_environment_, same_environment_);
    same_environment_ = 0;
  }
  if (same_environment_ == 0) last_environment_ = record.environment;
  ++same_environment_;
  add_facts(results_.facts, record.facts, 1);
  results_.runs.insert(record.run_id);
  results_.studies.insert(record.study);
  ++results_.records;
  const int64_t started = record.started_unix_ns;
  if (started == 0) return;  // published, without a date
  int64_t &first = results_.first_started_unix_ns, &last = results_.last_started_unix_ns;
  first = first == 0 ? started : std::min(first, started);
  last = std::max(last, started);
}

Results ResultsCollector::results() const {
  Results results = results_;
  if (same_environment_ > 0) add_facts(results.environment, last_environment_, same_environment_);
  results.points = points_.summaries();
  return results;
}

}  // namespace deepgap
