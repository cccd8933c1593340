// Reports what a lower precision does to memory, power and energy, at the same batch.
#include "analysis/comparison.h"
#include "analysis/finding.h"
#include "analysis/one_change.h"
#include "analysis/words.h"

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

// "0.52 times the device memory", for each that both have.
std::vector<std::string> ratios(const PairOfPoints& pair) {
  constexpr std::pair<const char*, const char*> resources[] = {
      {"device_memory_mib", "memory"}, {"power_w", "power"}, {"energy_j_per_item", "energy an item"}};
  std::vector<std::string> words;
  for (const auto& [metric, what] : resources) {
    const auto comparison = compare_points(*pair.one, *pair.other, metric);
    if (comparison) words.push_back(fmt::format("{} times the {}", format_ratio(comparison->ratio, comparison->interval), what));
  }
  return words;
}

Statement precision_resources_statement(const Workload& workload, const Line& line, const PairOfPoints& pair,
                                        const std::vector<std::string>& words) {
  const std::string precision(name_of(line.key.precision));
  return {Tone::result,
          fmt::format("{}, {}: {} takes {} of fp32", workload.label, label_without(line, precision), precision, list_of(words)),
          fmt::format("Both at batch {}, the largest that both ran.", pair.one->point.batch),
          {pair.one, pair.other}};
}

std::vector<Statement> find_precision_resources(const Evidence& evidence) {
  std::vector<Statement> statements;
  for (const Workload& workload : evidence.workloads) {
    for (const auto& lines : lines_alike_but(workload, [](Point& point) { point.precision = Precision::fp32; })) {
      const auto base = std::find_if(lines.begin(), lines.end(), [](const Line* line) { return line->key.precision == Precision::fp32; });
      if (base == lines.end()) continue;
      for (const Line* line : lines) {
        const auto pair = line == *base ? std::nullopt : at_common_batch(*line, **base);
        const auto words = pair ? ratios(*pair) : std::vector<std::string>{};
        if (!words.empty()) statements.push_back(precision_resources_statement(workload, *line, *pair, words));
      }
    }
  }
  return statements;
}

const bool registered = register_finding({"precision_resources", 42, find_precision_resources,
                                          "Lines that differ in precision alone, at the largest batch that both ran: memory on the device, "
                                          "power and energy an item against fp32."});

}  // namespace
}  // namespace deepgap
