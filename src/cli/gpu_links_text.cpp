#include "cli/gpu_links_text.h"

#include "analysis/words.h"
#include "base/dump_json.h"
#include "base/text.h"
#include "run/text_table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <set>
#include <vector>

namespace deepgap {
namespace {

using nlohmann::json;

struct Gpu {
  std::string name;  // "cuda:0"
  const json* facts;

  bool has(const std::string& key) const {
    const auto found = facts->find(key);
    return found != facts->end() && !(found->is_string() && found->get_ref<const std::string&>().starts_with("not available"));
  }
  std::string text(const std::string& key) const {
    if (!has(key)) return "?";
    const json& value = facts->at(key);
    return value.is_string() ? value.get<std::string>() : dump_line(value);
  }
  // Returns bytes per second in GB/s.
  std::string rate(const std::string& key) const { return has(key) ? format_significant(facts->at(key).get<double>() / 1e9, 3) : "?"; }
};

std::vector<Gpu> gpus_of(const json& rows) {
  std::vector<Gpu> gpus;
  for (const json& row : rows)
    if (row.contains("gpu")) gpus.push_back({row["device"].get<std::string>(), &row["gpu"]});
  return gpus;
}

std::string number_of(const Gpu& gpu) { return gpu.name.substr(gpu.name.find(':') + 1); }

// A row for each GPU.
TextColumn column(const std::string& title, bool right, const std::vector<Gpu>& gpus, const std::function<std::string(const Gpu&)>& cell) {
  TextColumn column{title, right, {}};
  for (const Gpu& gpu : gpus) column.cells.push_back(cell(gpu));
  return column;
}

std::string meaning(const std::string& code) {
  if (code.starts_with("NV")) return code.substr(2) + (code == "NV1" ? " NVLink" : " NVLinks");
  if (code == "PIX") return "a PCIe switch";
  if (code == "PXB") return "several PCIe switches";
  if (code == "PHB") return "a PCIe host bridge";
  if (code == "NODE") return "a NUMA node";
  if (code == "SYS") return "the link between NUMA nodes";
  return "not known";
}

std::string paths(const std::vector<Gpu>& gpus) {
  std::vector<TextColumn> columns{column("paths", false, gpus, [](const Gpu& gpu) { return gpu.name; })};
  std::set<std::string> codes;
  for (const Gpu& to : gpus) {
    columns.push_back(column(to.name, false, gpus, [&](const Gpu& from) {
      if (from.name == to.name) return std::string("-");
      return *codes.insert(from.text("path_to_" + number_of(to))).first;
    }));
  }
  columns.push_back(column("NUMA node", false, gpus, [](const Gpu& gpu) { return gpu.text("numa_node"); }));
  columns.push_back(column("near CPUs", false, gpus, [](const Gpu& gpu) { return gpu.text("near_cpus"); }));
  std::vector<std::string> legend;
  for (const std::string& code : codes) legend.push_back(code + ": " + meaning(code));
  return text_table(columns) + join(legend, "; ") + "\n";
}

std::string copies(const std::vector<Gpu>& gpus) {
  const auto rates = [&](const std::string& title, const std::string& key) {
    return column(title, true, gpus, [&](const Gpu& gpu) { return gpu.rate(key); });
  };
  std::vector<TextColumn> columns{column("GB/s", false, gpus, [](const Gpu& gpu) { return gpu.name; }), rates("h2d", "h2d_bytes_per_s"),
                                  rates("d2h", "d2h_bytes_per_s")};
  if (gpus.front().has("gpus_together")) {
    const std::string together = fmt::format("{} GPUs", gpus.front().text("gpus_together"));
    columns.push_back(rates("h2d, " + together, "h2d_together_bytes_per_s"));
    columns.push_back(rates("d2h, " + together, "d2h_together_bytes_per_s"));
    for (const Gpu& to : gpus)
      columns.push_back(column("to " + to.name, true, gpus, [&](const Gpu& from) {
        return from.name == to.name ? "-" : from.rate(fmt::format("copy_to_{}_bytes_per_s", number_of(to)));
      }));
  }
  return text_table(columns) + "Copies of page-locked memory, measured by deepgap devices --copies.\n";
}

}  // namespace

std::string gpu_links_text(const json& rows) {
  const std::vector<Gpu> gpus = gpus_of(rows);
  std::string text;
  if (gpus.size() > 1) text += "\n" + paths(gpus);
  std::vector<Gpu> measured;
  for (const Gpu& gpu : gpus)
    if (gpu.has("h2d_bytes_per_s")) measured.push_back(gpu);
  if (!measured.empty()) text += "\n" + copies(measured);
  return text;
}

}  // namespace deepgap
