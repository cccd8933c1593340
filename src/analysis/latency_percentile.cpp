#include "analysis/latency_percentile.h"

#include "analysis/steady.h"
#include "base/text.h"
#include "record/latency_percentiles.h"
#include "stats/percentile.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deepgap {

std::vector<double> parse_percentiles(const std::string& list) {
  std::vector<double> percents;
  for (std::string word : split(list, ',')) {
    word = trim(word);
    const auto percent = parse_double(word.starts_with("p") ? word.substr(1) : word);
    if (!percent || !(*percent > 0 && *percent < 100))
      throw Error(ErrorKind::usage,
                  fmt::format("--percentile {}: '{}' is no percentile between 0 and 100; write them as 90,95,99.9", list, word));
    if (std::find(percents.begin(), percents.end(), *percent) == percents.end()) percents.push_back(*percent);
  }
  return percents;
}

std::string latency_percentile_column(double percent) {
  if (const std::string metric = latency_metric_id(percent); !metric.empty()) return metric;
  std::string name = fmt::format("p{}", percent);
  const size_t point = name.find('.');
  if (point == std::string::npos) return latency_metric_id(name);
  // 99.5 as 99.9 is written; elsewhere 12.5 and 1.25 would look alike.
  percent > 99 ? name.erase(point, 1) : name.replace(point, 1, "_");
  return latency_metric_id(name);
}

Estimate percentile_of_series(const std::vector<double>& series, double percent) {
  const auto found = estimate_percentile(series, percent);
  Estimate estimate{found.value, {}, {}, static_cast<int64_t>(series.size())};
  if (found.interval && std::isfinite(found.interval->low)) estimate.low = found.interval->low;
  if (found.interval && std::isfinite(found.interval->high)) estimate.high = found.interval->high;
  return estimate;
}

void add_latency_percentiles(Record& record, const std::vector<double>& percents) {
  if (record.outcome != Outcome::ok || record.timings.empty() || record.timings_dropped > 0) return;
  const std::vector<double> latencies = latencies_ms(record);
  if (latencies.empty()) return;
  for (const double percent : percents) {
    const std::string column = latency_percentile_column(percent);
    if (record.estimates.contains(column)) continue;
    record.estimates.emplace(column, percentile_of_series(latencies, percent));
  }
}

}  // namespace deepgap
