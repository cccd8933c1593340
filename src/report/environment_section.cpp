// The machine and the software, shortly and in full.
#include "report/html.h"
#include "report/sections.h"

#include "analysis/words.h"

#include <fmt/format.h>

#include <map>

namespace deepgap {
namespace {

std::string values_text(const FactValues& values) {
  if (values.counts.size() == 1 && values.others == 0) return values.counts.begin()->first;
  if (values.others > 0 && values.least && values.most) {
    return format_significant(*values.least, 4) + " to " + format_significant(*values.most, 4);
  }
  std::string text;
  for (const auto& [value, count] : values.counts)
    text += (text.empty() ? "" : "; ") + value + " (" + count_of(count, "record", "records") + ")";
  if (values.others > 0) text += "; other values in " + count_of(values.others, "record", "records");
  return text;
}

std::string key_values(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string html = "<table class=\"kv\"><tbody>";
  for (const auto& [key, value] : pairs) {
    html += "<tr><td>" + html_escaped(key) + "</td><td>" + html_escaped(shortened(value, 500)) + "</td></tr>\n";
  }
  return html + "</tbody></table>";
}

std::string full_table(const FactTable& table, const std::string& title) {
  if (table.empty()) return {};
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& [key, values] : table) {
    if (pairs.size() < report_caps.facts) pairs.emplace_back(key, values_text(values));
  }
  std::string html = fmt::format("<details><summary>{}: {}</summary>{}", title,
                                 count_of(static_cast<int64_t>(table.size()), "fact", "facts"), key_values(pairs));
  if (pairs.size() < table.size()) html += fmt::format("<p class=\"aside\">{} more are in the store.</p>", table.size() - pairs.size());
  return html + "</details>";
}

// Facts that readers ask for first; several keys for one where sources differ.
struct KeyFact {
  const char* name;
  const char* key;
};
constexpr KeyFact key_facts[] = {{"CPU", "cpu.model"},
                                 {"Sockets", "cpu.sockets"},
                                 {"Cores", "cpu.cores"},
                                 {"Logical CPUs", "cpu.threads"},
                                 {"CPU quota", "cgroup.cpu_quota"},
                                 {"Hypervisor", "cpu.hypervisor"},
                                 {"Governor", "cpu.governor"},
                                 {"Memory", "memory.total_bytes"},
                                 {"Operating system", "os.name"},
                                 {"Kernel", "os.kernel"}};

}  // namespace

std::vector<std::pair<std::string, std::string>> machine_facts(const Results& results) {
  std::vector<std::pair<std::string, std::string>> facts;
  std::set<std::string> devices;
  for (const PointSummary& point : results.points) {
    if (!point.identity.device.empty()) devices.insert(point.identity.device);
  }
  if (!devices.empty()) facts.emplace_back("Devices", list_of({devices.begin(), devices.end()}, 8));
  for (const KeyFact& fact : key_facts) {
    const auto found = results.environment.find(fact.key);
    if (found == results.environment.end()) continue;
    const FactValues& values = found->second;
    const bool is_bytes = std::string_view(fact.key).find("_bytes") != std::string_view::npos;
    std::string text = values_text(values);
    if (is_bytes && values.least && values.least == values.most) text = fmt::format("{:.1f} GiB", *values.least / (1 << 30));
    facts.emplace_back(fact.name, text);
  }
  std::map<std::string, std::set<std::string>> versions;
  for (const PointSummary& point : results.points)
    versions[point.point.backend].insert(point.backend_versions.begin(), point.backend_versions.end());
  for (const auto& [backend, known] : versions) {
    if (!known.empty()) facts.emplace_back("Engine " + backend, list_of({known.begin(), known.end()}, 4));
  }
  std::set<std::string> datasets;
  for (const PointSummary& point : results.points) {
    if (!point.dataset_description.empty()) datasets.insert(point.dataset_description);
  }
  if (!datasets.empty()) facts.emplace_back("Inputs", list_of({datasets.begin(), datasets.end()}, 4));
  return facts;
}

std::string environment_section(const View& view) {
  std::string html = "<section id=\"environment\"><h2>Environment</h2>";
  const auto facts = machine_facts(view.results);
  if (facts.empty()) return html + "<p>Nothing was recorded.</p></section>";
  html += key_values(facts);
  html += full_table(view.results.environment, "The machine in full");
  html += full_table(view.results.facts, "Notes of the runs");
  return html + "</section>";
}

}  // namespace deepgap
