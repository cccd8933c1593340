#include "stats/latency_sketch.h"

#include "stats/percentile.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace deepgap {
namespace {

const double log_width = std::log(1.005);
constexpr double own_error = 0.0025;  // relative error of a bucket's middle

int bucket_of(double value) { return static_cast<int>(std::floor(std::log(value) / log_width)); }
double middle_of(int bucket) { return std::exp((bucket + 0.5) * log_width); }

template <typename Number>
bool read_number(std::string_view& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return error == std::errc();
}

// Standard error of the share above `level` over the runs, as clusters of queries.
double cluster_error(std::span<const LatencySketch> runs, double level, double all) {
  double above = 0;
  for (const LatencySketch& run : runs) above += static_cast<double>(run.count_above(level));
  const double share = above / all;
  double squares = 0;
  for (const LatencySketch& run : runs) {
    const double residual = (static_cast<double>(run.count_above(level)) - share * static_cast<double>(run.count())) / all;
    squares += residual * residual;
  }
  const auto k = static_cast<double>(runs.size());
  return std::sqrt(squares * k / (k - 1));
}

}  // namespace

void LatencySketch::add(double value, int64_t count) {
  if (!(value > 0) || count <= 0) return;
  add_to(std::isinf(value) ? unanswered : bucket_of(value), count);
}

void LatencySketch::add_to(int bucket, int64_t count) {
  count_ += count;
  const auto at = std::lower_bound(buckets_.begin(), buckets_.end(), Bucket{bucket, std::numeric_limits<int64_t>::min()});
  if (at != buckets_.end() && at->first == bucket) {
    at->second += count;
  } else {
    buckets_.insert(at, {bucket, count});
  }
}

void LatencySketch::add(const LatencySketch& other) {
  for (const auto& [bucket, count] : other.buckets_) add_to(bucket, count);
}

double LatencySketch::percentile(double percent) const {
  if (count_ == 0) return 0;
  const auto rank = static_cast<int64_t>(nearest_rank(static_cast<size_t>(count_), percent));
  int64_t seen = 0;
  for (const auto& [bucket, count] : buckets_) {
    seen += count;
    if (seen >= rank) return bucket == unanswered ? std::numeric_limits<double>::infinity() : middle_of(bucket);
  }
  return 0;
}

int64_t LatencySketch::count_above(double value) const {
  int64_t above = 0;
  const Bucket own{std::isinf(value) ? unanswered : bucket_of(value), std::numeric_limits<int64_t>::max()};
  const auto first = std::upper_bound(buckets_.begin(), buckets_.end(), own);
  for (auto at = first; at != buckets_.end(); ++at) above += at->second;
  return above;
}

std::string LatencySketch::text() const {
  std::string text;
  for (const auto& [bucket, count] : buckets_) {
    if (!text.empty()) text += ' ';
    text += bucket == unanswered ? fmt::format("-:{}", count) : fmt::format("{}:{}", bucket, count);
  }
  return text;
}

std::optional<LatencySketch> LatencySketch::from_text(std::string_view text) {
  LatencySketch sketch;
  while (!text.empty()) {
    int bucket = unanswered;
    int64_t count = 0;
    if (text.starts_with("-:")) {
      text.remove_prefix(1);
    } else if (!read_number(text, bucket)) {
      return std::nullopt;
    }
    if (!text.starts_with(':')) return std::nullopt;
    text.remove_prefix(1);
    if (!read_number(text, count) || count <= 0 || count > std::numeric_limits<int64_t>::max() / 2 - sketch.count_) return std::nullopt;
    sketch.add_to(bucket, count);
    if (text.empty()) break;
    if (!text.starts_with(' ')) return std::nullopt;
    text.remove_prefix(1);
  }
  return sketch.count_ > 0 ? std::optional(sketch) : std::nullopt;
}

std::optional<PooledPercentile> pooled_percentile(std::span<const LatencySketch> runs, double percent, double confidence) {
  LatencySketch pool;
  size_t filled = 0;
  for (const LatencySketch& run : runs) {
    pool.add(run);
    filled += run.count() > 0 ? 1 : 0;
  }
  if (filled < 2) return std::nullopt;
  PooledPercentile found{pool.percentile(percent), {}, {}};
  const auto n = static_cast<size_t>(pool.count());
  const auto all = static_cast<double>(n);
  const double share = percent / 100, logit = std::log(share / (1 - share));
  const double error = cluster_error(runs, found.value, all) / (share * (1 - share));
  const double factor = student_factor(static_cast<double>(filled) - 1, confidence) * error;
  const auto percent_at = [](double at) { return 100 / (1 + std::exp(-at)); };
  // Both ends: of as many independent queries, and of the cluster sample.
  const auto value_at = [&](size_t rank) { return pool.percentile(100 * (static_cast<double>(rank) - 0.5) / all); };
  if (const auto rank = percentile_low_rank(n, percent, confidence))
    found.low = std::min(value_at(*rank), pool.percentile(percent_at(logit - factor))) * (1 - own_error);
  if (const auto rank = percentile_high_rank(n, percent, confidence)) {
    const double end = std::max(value_at(*rank), pool.percentile(percent_at(logit + factor))) * (1 + own_error);
    if (std::isfinite(end)) found.high = end;
  }
  return found;
}

}  // namespace deepgap
