#include "report/gpu_topology.h"

#include "analysis/words.h"
#include "base/gpu_fact.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace deepgap {
namespace {

// Returns N of "path_to_N" where `begin` is "path_to_" and what follows N is `end`.
std::optional<int> number_in(const std::string& key, std::string_view begin, std::string_view end = "") {
  if (!key.starts_with(begin) || !key.ends_with(end)) return std::nullopt;
  const char *first = key.data() + begin.size(), *last = key.data() + key.size() - end.size();
  int number = 0;
  const auto [after, error] = std::from_chars(first, last, number);
  return error == std::errc() && after == last && first != last ? std::optional(number) : std::nullopt;
}

std::string only_text(const FactValues& values) {
  if (values.counts.size() != 1 || values.others > 0) return {};
  const std::string& text = values.counts.begin()->first;
  return text.starts_with("not available") ? "" : text;
}

std::optional<RateRange> rate_of(const FactValues& values) {
  if (!values.least || !values.most || *values.least <= 0) return std::nullopt;
  return RateRange{*values.least, *values.most};
}

struct TextFact {
  const char* key;
  std::string PlacedGpu::*text;
};
constexpr TextFact texts[] = {{"name", &PlacedGpu::name},
                              {"numa_node", &PlacedGpu::numa_node},
                              {"near_cpus", &PlacedGpu::near_cpus},
                              {"pcie_generation_max", &PlacedGpu::pcie_generation},
                              {"pcie_width_max", &PlacedGpu::pcie_width},
                              {"gpus_together", &PlacedGpu::gpus_together}};
struct RateFact {
  const char* key;
  std::optional<RateRange> PlacedGpu::*rate;
};
constexpr RateFact rates[] = {{"h2d_bytes_per_s", &PlacedGpu::h2d},
                              {"d2h_bytes_per_s", &PlacedGpu::d2h},
                              {"h2d_together_bytes_per_s", &PlacedGpu::h2d_together},
                              {"d2h_together_bytes_per_s", &PlacedGpu::d2h_together}};

void add_fact(PlacedGpu& gpu, const std::string& key, const FactValues& values) {
  for (const TextFact& fact : texts)
    if (key == fact.key) gpu.*fact.text = only_text(values);
  for (const RateFact& fact : rates)
    if (key == fact.key) gpu.*fact.rate = rate_of(values);
  if (const auto to = number_in(key, "path_to_")) gpu.paths[*to] = only_text(values);
  if (const auto to = number_in(key, "pcie_path_to_")) gpu.pcie_paths[*to] = only_text(values);
  if (const auto to = number_in(key, "copy_to_", "_bytes_per_s"))
    if (const auto rate = rate_of(values)) gpu.copies_to[*to] = *rate;
}

bool share_switch(const PlacedGpu& a, const PlacedGpu& b) {
  const auto found = a.pcie_paths.find(b.number);
  return found != a.pcie_paths.end() && found->second == "PIX";
}

// Brings together what is below one switch, in one memory node.
void sort_by_place(std::vector<PlacedGpu>& gpus) {
  const auto node = [](const PlacedGpu& gpu) { return std::pair(gpu.numa_node.size(), gpu.numa_node); };  // 2 comes before 10
  std::stable_sort(gpus.begin(), gpus.end(), [&](const PlacedGpu& a, const PlacedGpu& b) { return node(a) < node(b); });
  for (auto gpu = gpus.begin(); gpu != gpus.end(); ++gpu)
    std::stable_partition(gpu + 1, gpus.end(), [&](const PlacedGpu& other) { return share_switch(*gpu, other); });
}

}  // namespace

std::vector<std::vector<const PlacedGpu*>> GpuTopology::switches() const {
  std::vector<std::vector<const PlacedGpu*>> groups;
  for (const PlacedGpu& gpu : gpus) {
    if (groups.empty() || !share_switch(*groups.back().front(), gpu)) groups.emplace_back();
    groups.back().push_back(&gpu);
  }
  return groups;
}

std::string PlacedGpu::link() const {
  return pcie_generation.empty() || pcie_width.empty() ? "" : fmt::format("PCIe {} x{}", pcie_generation, pcie_width);
}

std::optional<GpuTopology> gpu_topology_of(const FactTable& environment) {
  GpuTopology topology;
  std::map<int, PlacedGpu> gpus;
  for (const auto& [name, values] : environment) {
    const auto fact = parse_gpu_fact(name);
    if (!fact) continue;
    PlacedGpu& gpu = gpus[fact->gpu];
    gpu.number = fact->gpu;
    add_fact(gpu, fact->key, values);
  }
  std::erase_if(gpus, [](const auto& gpu) { return gpu.second.name.empty(); });  // unknown, or of machines that differ
  if (gpus.size() < 2) return std::nullopt;
  for (auto& [number, gpu] : gpus) {
    if (gpu.name.starts_with("NVIDIA ")) gpu.name.erase(0, 7);
    topology.gpus.push_back(std::move(gpu));
  }
  sort_by_place(topology.gpus);
  return topology;
}

std::string rate_words(const RateRange& rate) {
  const std::string low = format_significant(rate.low / 1e9, 3), high = format_significant(rate.high / 1e9, 3);
  return low == high ? low : low + " to " + high;
}

}  // namespace deepgap
