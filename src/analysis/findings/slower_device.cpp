// When the slower device is still the right one: where it costs or takes less for an item than the faster.
#include "analysis/device_ratios.h"
#include "analysis/finding.h"
#include "analysis/words.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

// One of those ratios where the slower one is the better, or seems so.
struct Better {
  const DeviceRatio* at;
  Comparison times;
};

std::vector<Better> where_better(const DevicePair& pair, const char* metric) {
  std::vector<Better> found;
  for (const DeviceRatio& ratio : pair.ratios) {
    const auto times = compare_points(*ratio.second, *ratio.first, metric);
    if (!times || times->ratio >= 1 || (times->interval && !times->separable())) continue;
    found.push_back({&ratio, *times});
  }
  return found;
}

// "fp16 batch 128: 0.82 (0.80 to 0.84) times the cost, ..."
std::string list_text(const std::vector<Better>& found, const char* what) {
  std::vector<const Comparison*> comparisons;
  for (const Better& better : found) comparisons.push_back(&better.times);
  const std::string caveat = common_caveat(comparisons);
  std::vector<std::string> words;
  for (const auto& [at, times] : found) {
    words.push_back(fmt::format("{} {}: {} times the {}", at->precision,
                                at->batch > 0 ? fmt::format("batch {}", at->batch) : "each at its best",
                                caveat.empty() ? ratio_in_words(times) : format_ratio(times.ratio), what));
  }
  return list_of(words, 8) + (caveat.empty() ? "" : fmt::format(" ({})", caveat));
}

void add(const Workload& workload, const DevicePair& pair, const char* metric, const char* what, std::vector<Statement>& statements) {
  Statement said;
  const std::vector<Better> found = where_better(pair, metric);
  if (found.empty()) return;
  for (const Better& better : found) said.points.push_back(better.at->second);
  said.headline = fmt::format("{}, {}: {} is slower than {}, and takes less {} for an item", workload.label, pair.label,
                              short_device_name(pair.other), short_device_name(pair.device), what);
  said.detail = fmt::format("In {} of {} comparisons: {}.", found.size(), pair.ratios.size(), list_text(found, what));
  statements.push_back(std::move(said));
}

std::vector<Statement> find_slower_device(const Evidence& evidence) {
  std::vector<Statement> statements;
  for (const Workload& workload : evidence.workloads) {
    for (const DevicePair& pair : device_pairs(workload)) {
      add(workload, pair, "cost_per_1000_items", "cost", statements);
      add(workload, pair, "energy_j_per_item", "energy", statements);
    }
  }
  return statements;
}

const bool registered = register_finding({"slower_device", 45, find_slower_device,
                                          "Where the slower of two devices costs less for an item (with --prices, or as published) or "
                                          "takes less energy than the faster, all else being alike."});

}  // namespace
}  // namespace deepgap
