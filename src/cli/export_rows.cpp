#include "cli/export_rows.h"

#include "analysis/baseline.h"
#include "analysis/cost/cost.h"
#include "analysis/latency_percentile.h"
#include "analysis/words.h"
#include "base/console.h"
#include "base/words.h"
#include "cli/baseline_flag.h"
#include "cli/export_output.h"
#include "cli/price_flag.h"
#include "cli/stores.h"
#include "record/fact_values.h"
#include "record/identity.h"
#include "record/published.h"
#include "store/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

namespace deepgap {
namespace {

// Returns losses by record_id: computing them takes all Records.
std::map<std::string, Estimate> accuracy_losses(const std::vector<std::string>& paths, const Selection& selection,
                                                const std::vector<std::string>& metrics) {
  if (std::find(metrics.begin(), metrics.end(), "accuracy_top1") == metrics.end()) return {};
  PointCollector points;
  std::map<PointOnDevice, std::vector<std::string>> records;
  look_at_selected(paths, selection, false, [&](const Store&, const Record& record) {
    points.add(record);
    if (record.estimates.contains("accuracy_top1")) records[{record.point, identity_of(record).device}].push_back(record.record_id);
  });
  std::map<std::string, Estimate> losses;
  for (const PointSummary& point : points.summaries()) {
    const MetricSummary* loss = point.find("accuracy_loss");
    if (loss == nullptr) continue;
    for (const std::string& id : records[point.on_device()]) losses.emplace(id, loss->estimate);
  }
  return losses;
}

// The Stores' data on a run besides its Record.
struct StoreIndex {
  std::unordered_map<std::string, int64_t> timing_counts;  // by record_id
  std::vector<std::string> metric_ids;
};

StoreIndex index_of(const std::vector<std::string>& paths) {
  StoreIndex index;
  for (const std::string& path : paths) {
    const Store store(path, Store::Mode::read);
    index.timing_counts.merge(store.timing_counts());
    for (const std::string& id : store.metric_ids()) index.metric_ids.push_back(id);
  }
  return index;
}

// Returns the percentiles whose column the Record does not have.
std::vector<double> missing_of(const Record& record, const std::vector<double>& percents) {
  std::vector<double> missing;
  std::copy_if(percents.begin(), percents.end(), std::back_inserter(missing), [&](double percent) {
    return record.outcome == Outcome::ok && !record.estimates.contains(latency_percentile_column(percent));
  });
  return missing;
}

// Returns the number of timings. An imported Record has no timings, but says how many there were.
int64_t timings_of(const Record& record, int64_t stored) {
  const auto counted = record.estimates.find("timings");
  return stored == 0 && counted != record.estimates.end() ? std::llround(counted->second.value) : stored;
}

// Records with what their Store has not of them, or cannot have.
class Supplement {
 public:
  Supplement(const ExportRows& rows, const std::vector<std::string>& metric_ids)
      : percents_(rows.percentiles.empty() ? std::vector<double>() : parse_percentiles(rows.percentiles)),
        prices_(prices_of_flag(rows.prices)),
        losses_(rows.by_point ? std::map<std::string, Estimate>() : accuracy_losses(rows.stores, rows.selection, metric_ids)) {}

  const Prices& prices() const { return prices_; }
  // Columns beside those of the Stores' own metrics.
  void add_columns(std::vector<std::string>& metric_ids) const {
    for (const double percent : percents_) metric_ids.push_back(latency_percentile_column(percent));
    if (prices_.empty()) return;
    for (std::string& id : cost_metric_ids()) metric_ids.push_back(std::move(id));
  }

  // Adds the percentiles that were asked for. The result stays until the next call.
  const Record& with_percentiles(const Store& store, const Record& each) {
    more_.reset();
    if (const auto* currency = fact_as<std::string>(each.facts, published_currency_fact)) check_currency(prices_, *currency);
    const auto missing = missing_of(each, percents_);
    if (missing.empty()) return each;
    more_.emplace(each).timings = store.timings(each.record_id);
    add_latency_percentiles(*more_, missing);
    more_->timings = {};
    if (!missing_of(*more_, missing).empty()) ++without_;
    return *more_;
  }
  // Adds what a Record alone does not contain: its loss of accuracy, its costs.
  const Record& with_all(const Store& store, const Record& each) {
    const Record& record = with_percentiles(store, each);
    const auto loss = losses_.find(each.record_id);
    const bool priced = !prices_.empty() && !each.estimates.empty();
    if (loss == losses_.end() && !priced) return record;
    if (!more_) more_.emplace(each);
    if (loss != losses_.end()) more_->estimates["accuracy_loss"] = loss->second;
    if (priced) add_costs_of(*more_);
    return *more_;
  }

  void note_unpriced(std::string note) { unpriced_.insert(std::move(note)); }
  void tell() const {
    for (const std::string& note : unpriced_) say(stderr, fmt::format("deepgap: note: {}\n", printable(note)));
    if (without_ > 0)
      say(stderr, fmt::format("deepgap: note: {} lack some of these percentiles, because their timings are not in the store\n",
                              count_of(without_, "record", "records")));
  }

 private:
  void add_costs_of(Record& record) {
    const Identity identity = identity_of(record);
    const std::string missing = cost_per_hour(prices_, record.point, identity, record.estimates).missing;
    if (!missing.empty()) note_unpriced(missing);
    for (auto& [id, cost] : costs_of(prices_, record.point, identity, record.estimates)) {
      record.estimates.insert_or_assign(id, cost);
      record.facts[published_currency_fact] = prices_.currency;
    }
  }

  const std::vector<double> percents_;
  const Prices prices_;
  const std::map<std::string, Estimate> losses_;
  std::optional<Record> more_;
  std::set<std::string> unpriced_;
  int64_t without_ = 0;  // Records that have not all percentiles
};

void write_records(const ExportRows& rows, const StoreIndex& index, Supplement& supplement, ExportWriter& writer) {
  look_at_selected(rows.stores, rows.selection, rows.anonymous, [&](const Store& store, const Record& each) {
    const Record& record = supplement.with_all(store, each);
    const auto count = index.timing_counts.find(record.record_id);
    const bool ran = count != index.timing_counts.end() && (count->second > 0 || record.outcome == Outcome::ok);
    writer.add(record, ran ? std::optional(timings_of(record, count->second)) : std::nullopt);
  });
}

void write_points(const ExportRows& rows, Supplement& supplement, ExportWriter& writer) {
  PointCollector points;
  look_at_selected(rows.stores, rows.selection, rows.anonymous,
                   [&](const Store& store, const Record& each) { points.add(supplement.with_percentiles(store, each)); });
  std::vector<PointSummary> summaries = points.summaries();
  for (std::string& note : add_costs(supplement.prices(), summaries)) supplement.note_unpriced(std::move(note));
  compare_with_baseline(rows.baseline, summaries);
  for (const PointSummary& summary : summaries) writer.add(summary);
}

}  // namespace

void write_export_rows(const ExportRows& rows, ExportFormat format, const std::string& output) {
  StoreIndex index = index_of(rows.stores);
  Supplement supplement(rows, index.metric_ids);
  supplement.add_columns(index.metric_ids);
  if (rows.by_point) {
    for (std::string& id : ratio_metric_ids()) index.metric_ids.push_back(std::move(id));
  }
  ExportOutput file(output);
  ExportWriter writer(format, export_columns(index.metric_ids), [&](std::string_view text) { file.write(text); });
  rows.by_point ? write_points(rows, supplement, writer) : write_records(rows, index, supplement, writer);
  writer.finish();
  file.finish();
  supplement.tell();
}

}  // namespace deepgap
