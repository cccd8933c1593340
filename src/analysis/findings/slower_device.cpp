// When the slower device is still the right one: where it costs or takes less for an item than the faster.
#include "analysis/device_ratios.h"
#include "analysis/finding.h"
#include "analysis/words.h"
#include "base/registry.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

// "fp16 batch 128 (0.82 times the cost)" of those ratios where the slower one is the better beyond doubt.
std::vector<std::string> where_better(const DevicePair& pair, const char* metric, const char* what,
                                      std::vector<const PointSummary*>& points) {
  std::vector<std::string> found;
  for (const DeviceRatio& ratio : pair.ratios) {
    const auto times = compare_points(*ratio.second, *ratio.first, metric);
    if (!times || times->ratio >= 1 || (times->interval && !times->separable())) continue;
    const std::string batch = ratio.batch > 0 ? fmt::format("batch {}", ratio.batch) : "each at its best";
    found.push_back(fmt::format("{} {} ({} times the {})", ratio.precision, batch, format_ratio(times->ratio), what));
    points.push_back(ratio.second);
  }
  return found;
}

class SlowerDevice final : public Finding {
 public:
  std::string id() const override { return "slower_device"; }
  int order() const override { return 45; }
  std::string describe() const override {
    return "Where the slower of two devices costs less for an item (with --prices, or as published) or takes less energy than the faster, "
           "all else "
           "being alike.";
  }
  std::vector<Statement> find(const Evidence& evidence) const override {
    std::vector<Statement> statements;
    for (const Workload& workload : evidence.workloads) {
      for (const DevicePair& pair : device_pairs(workload)) {
        add(workload, pair, "cost_per_1000_items", "cost", statements);
        add(workload, pair, "energy_j_per_item", "energy", statements);
      }
    }
    return statements;
  }

 private:
  static void add(const Workload& workload, const DevicePair& pair, const char* metric, const char* what,
                  std::vector<Statement>& statements) {
    Statement said;
    const std::vector<std::string> found = where_better(pair, metric, what, said.points);
    if (found.empty()) return;
    said.headline = fmt::format("{}, {}: {} is slower than {}, and takes less {} for an item", workload.label, pair.label,
                                short_device_name(pair.other), short_device_name(pair.device), what);
    said.detail = fmt::format("In {} of {} comparisons: {}.", found.size(), pair.ratios.size(), list_of(found, 8));
    statements.push_back(std::move(said));
  }
};

const bool registered = Registry<Finding>::instance().add("slower_device", [] { return std::make_unique<SlowerDevice>(); });

}  // namespace
}  // namespace deepgap
