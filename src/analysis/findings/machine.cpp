// Reports what about the machine or the Store may spoil a comparison: warnings the runs left, one device in several machines, several
// versions of an engine.
#include "analysis/finding.h"
#include "analysis/words.h"
#include "base/text.h"
#include "record/tenant_set.h"

#include <fmt/format.h>

#include <algorithm>
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

// Reports Points whose repeats mix hosts. Devices are distinguished; hosts with one device are averaged. Known nodes are in the intervals.
void add_mixture(const std::vector<PointSummary>& points, std::vector<Statement>& statements) {
  std::vector<const PointSummary*> mixed;
  std::set<std::string> hosts, machines;
  for (const PointSummary& point : points) {
    if (point.machines.size() < 2 && (point.hosts.size() < 2 || point.nodes.size() > 1)) continue;
    mixed.push_back(&point);
    hosts.insert(point.hosts.begin(), point.hosts.end());
    machines.insert(point.machines.begin(), point.machines.end());
  }
  if (mixed.empty()) return;
  const std::set<std::string>& names = machines.size() > 1 ? machines : hosts;
  statements.push_back({Tone::warning,
                        fmt::format("{} measured in {} machines", count_of(static_cast<int64_t>(mixed.size()), "point was", "points were"),
                                    std::max(hosts.size(), machines.size())),
                        "The values are averages over all of them: " + list_of({names.begin(), names.end()}, 4) + ".", mixed});
}

void add_nodes(const std::vector<PointSummary>& points, std::vector<Statement>& statements) {
  std::vector<const PointSummary*> several;
  std::set<std::string> names;
  for (const PointSummary& point : points) {
    if (point.nodes.size() < 2) continue;
    several.push_back(&point);
    for (const auto& [number, name] : point.nodes) names.insert(name.empty() ? "one without a name" : name);
  }
  if (several.empty()) return;
  statements.push_back(
      {Tone::note,
       fmt::format("{} measured on several nodes of a kind", count_of(static_cast<int64_t>(several.size()), "point was", "points were")),
       fmt::format("In values and intervals each node counts once, so that they describe the kind: {}.",
                   list_of({names.begin(), names.end()}, 4)),
       several});
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

// Reports facts that spoil measurements wherever they hold. `deepgap doctor` sees more of its own machine; this uses the Records alone.
void add_conditions(const FactTable& environment, std::vector<Statement>& statements) {
  const std::string governor = only_value(environment, "cpu.governor");
  if (!governor.empty() && governor != "performance" && governor.rfind("not available", 0) != 0) {
    statements.push_back(
        {Tone::warning, "Frequency governor: " + governor, "Clocks rise and fall with the load; \"performance\" holds them.", {}});
  }
  const auto swap = environment.find("memory.swap_used_bytes");
  if (swap != environment.end() && swap->second.most.value_or(0) > 0) {
    statements.push_back({Tone::note,
                          fmt::format("Up to {} of swap were in use", format_bytes(*swap->second.most)),
                          "A model that is read back from swap is slow for a reason of the machine's.",
                          {}});
  }
  const std::string hypervisor = only_value(environment, "cpu.hypervisor");
  if (!hypervisor.empty() && hypervisor != "none" && hypervisor.rfind("not available", 0) != 0) {
    statements.push_back({Tone::note,
                          fmt::format("Measured in a virtual machine ({})", hypervisor),
                          "Cores, caches and memory may be shared with other guests: compare within one run, and trust repeats.",
                          {}});
  }
}

// Points during which others took CPU time, judged by a metric: more than `share` of the threads.
void add_disturbed(const std::vector<const PointSummary*>& points, const std::string& metric, double share, const std::string& what,
                   std::vector<Statement>& statements) {
  std::vector<const PointSummary*> found;
  double most = 0;
  for (const PointSummary* point : points) {
    const MetricSummary* taken = point->find(metric);
    if (taken == nullptr || taken->estimate.value <= share * std::max(point->point.threads, 1)) continue;
    found.push_back(point);
    most = std::max(most, taken->estimate.value);
  }
  if (found.empty()) return;
  const std::string count = count_of(static_cast<int64_t>(found.size()), "point", "points");
  statements.push_back({Tone::warning, fmt::format("{} measured while {}", count, what),
                        fmt::format("The most was {} CPUs on average over a measured window.", format_significant(most, 2)), found});
}

std::vector<Statement> find_machine(const Evidence& evidence) {
  const Results& results = evidence.results;
  std::vector<Statement> statements;
  add_warnings(results.environment, statements);
  add_warnings(results.facts, statements);
  add_conditions(results.environment, statements);
  std::vector<const PointSummary*> all, alone;  // tenants are beside others because it was asked for
  for (const PointSummary& point : results.points) {
    all.push_back(&point);
    if (!tenant_place(point.point)) alone.push_back(&point);
  }
  add_disturbed(alone, "cpus_used_by_others", 0.05, "other processes used the CPUs", statements);
  add_disturbed(all, "cpus_stolen", 0.01, "the host gave CPU time to other guests", statements);
  add_mixture(results.points, statements);
  add_nodes(results.points, statements);
  add_versions(results.points, statements);
  return statements;
}

const bool registered =
    register_finding({"machine", 80, find_machine,
                      "Facts in the records that disturb measurements: governor, swap, virtualisation, other processes above 5 % of the "
                      "threads, stolen time above 1 %. Also points that several machines, nodes of a kind or engine versions measured."});

}  // namespace
}  // namespace deepgap
