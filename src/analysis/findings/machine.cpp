// What about the machine or the Store may spoil a comparison: warnings the runs left, several machines or engine versions in one Store.
#include "analysis/finding.h"
#include "analysis/words.h"
#include "base/registry.h"

#include <fmt/format.h>

#include <map>
#include <set>

namespace deepgap {
namespace {

// Records say it as facts "warning.SUBJECT" with the finding as their text.
constexpr std::string_view warning_prefix = "warning.";

std::vector<std::string> texts_of(const FactValues& values) {
  std::vector<std::string> texts;
  for (const auto& [text, count] : values.counts) texts.push_back(text);
  return texts;
}

void add_warnings(const FactTable& table, std::vector<Statement>& statements) {
  for (auto at = table.lower_bound(std::string(warning_prefix)); at != table.end(); ++at) {
    const auto& [key, values] = *at;
    if (key.compare(0, warning_prefix.size(), warning_prefix) != 0) return;
    int64_t records = values.others;
    for (const auto& [text, count] : values.counts) records += count;
    statements.push_back({Tone::warning,
                          fmt::format("{}: noted in {}", key.substr(warning_prefix.size()), count_of(records, "record", "records")),
                          list_of(texts_of(values), 3),
                          {}});
  }
}

void add_mixture(const FactTable& table, const std::string& key, const std::string& what, std::vector<Statement>& statements) {
  const auto found = table.find(key);
  if (found == table.end() || found->second.counts.size() < 2) return;
  statements.push_back(
      {Tone::warning,
       fmt::format("Records of {} {} are mixed", found->second.counts.size(), what),
       "A point measured on several of them is one average over unlike things: " + list_of(texts_of(found->second), 4) + ".",
       {}});
}

void add_versions(const std::vector<PointSummary>& points, std::vector<Statement>& statements) {
  std::map<std::string, std::set<std::string>> versions;
  for (const PointSummary& point : points)
    versions[point.point.backend].insert(point.backend_versions.begin(), point.backend_versions.end());
  for (const auto& [backend, known] : versions) {
    if (known.size() < 2) continue;
    statements.push_back({Tone::warning,
                          fmt::format("{} was measured in {} versions", backend, known.size()),
                          list_of({known.begin(), known.end()}, 4) + ".",
                          {}});
  }
}

class Machine final : public Finding {
 public:
  std::string id() const override { return "machine"; }
  int order() const override { return 80; }
  std::string describe() const override {
    return "Warnings that the runs recorded about their machine, and Records of several machines or engine versions in one Store.";
  }
  std::vector<Statement> find(const Evidence& evidence) const override {
    const Results& results = evidence.results;
    std::vector<Statement> statements;
    add_warnings(results.environment, statements);
    add_warnings(results.facts, statements);
    add_mixture(results.environment, "host.name", "machines", statements);
    add_mixture(results.environment, "cpu.model", "CPU models", statements);
    add_versions(results.points, statements);
    return statements;
  }
};

const bool registered = Registry<Finding>::instance().add("machine", [] { return std::make_unique<Machine>(); });

}  // namespace
}  // namespace deepgap
