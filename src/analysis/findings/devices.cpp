// Reports the ratio of one device to another, by precision and batch, in words.
#include "analysis/comparison.h"
#include "analysis/device_ratios.h"
#include "analysis/finding.h"
#include "analysis/words.h"
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace deepgap {
namespace {

using Ratios = std::vector<const DeviceRatio*>;

bool is_smaller(const DeviceRatio* a, const DeviceRatio* b) { return a->throughput.ratio < b->throughput.ratio; }

std::string caveat_of(const Ratios& ratios) {
  std::vector<const Comparison*> comparisons;
  for (const DeviceRatio* ratio : ratios) comparisons.push_back(&ratio->throughput);
  return common_caveat(comparisons);
}

// Adds the caveat of each ratio, unless all have the same `caveat`, which is stated once behind them.
std::string words_of(const DeviceRatio& ratio, const std::string& caveat) {
  return caveat.empty() ? ratio_in_words(ratio.throughput) : format_ratio(ratio.throughput.ratio);
}

std::string behind(const std::string& caveat) { return caveat.empty() ? "" : fmt::format(" ({})", caveat); }

// "1.21 (1.15 to 1.27) at batch 8"
std::string words_with_batch(const DeviceRatio& ratio, const std::string& caveat) {
  const std::string words = words_of(ratio, caveat);
  if (ratio.batch != 0) return words + fmt::format(" at batch {}", ratio.batch);
  return words + fmt::format(" each at its best, batch {} and {}", ratio.first->point.batch, ratio.second->point.batch);
}

// All of them where they are few, else the ends: the report's table has the others.
std::string sentence(const std::string& precision, const Ratios& ratios) {
  constexpr size_t few = 4;
  const std::string caveat = caveat_of(ratios);
  if (ratios.size() <= few) {
    std::vector<std::string> words;
    for (const DeviceRatio* ratio : ratios) words.push_back(words_with_batch(*ratio, caveat));
    return fmt::format("{}: {}{}.", precision, list_of(words), behind(caveat));
  }
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end(), is_smaller);
  std::string text = fmt::format("{}: from {} to {}", precision, words_with_batch(**least, caveat), words_with_batch(**most, caveat));
  if (!caveat.empty()) return text + behind(caveat) + ".";
  const auto open = std::count_if(ratios.begin(), ratios.end(), [](const auto* ratio) { return !ratio->throughput.separable(); });
  if (open > 0) text += fmt::format("; {} of {} ratios do not differ significantly from 1", open, ratios.size());
  return text + ".";
}

Statement devices_statement(const Workload& workload, const DevicePair& pair) {
  Ratios all;
  std::map<std::string, Ratios> by_precision;
  Statement said;
  for (const DeviceRatio& ratio : pair.ratios) {
    all.push_back(&ratio);
    by_precision[ratio.precision].push_back(&ratio);
    said.points.push_back(ratio.first);
    said.points.push_back(ratio.second);
    said.effect = std::max(said.effect, certain_effect(ratio.throughput));
  }
  const auto [least, most] = std::minmax_element(all.begin(), all.end(), is_smaller);
  const std::string caveat = caveat_of(all), low = words_of(**least, caveat), high = words_of(**most, caveat);
  said.headline = fmt::format("{}, {}: {} gives {} times the throughput of {}{}", workload.label, pair.label, pair.device,
                              low == high ? low : low + " to " + high, pair.other, behind(caveat));
  std::vector<std::string> sentences;
  for (const auto& [precision, ratios] : by_precision) sentences.push_back(sentence(precision, ratios));
  said.detail = join(sentences, " ");
  return said;
}

std::vector<Statement> find_devices(const Evidence& evidence) {
  std::vector<Statement> statements;
  for (const Workload& workload : evidence.workloads) {
    for (const DevicePair& pair : device_pairs(workload)) statements.push_back(devices_statement(workload, pair));
  }
  return statements;
}

const bool registered =
    register_finding({"devices", 14, find_devices,
                      "Lines that differ only in the device, or in its index and the threads. Gives the throughput of each device over "
                      "that of the slowest, by precision, at each batch that both ran and at the best batch of each."});

}  // namespace
}  // namespace deepgap
