#include "record/own_time.h"

#include <algorithm>
#include <cstddef>

namespace deepgap {
namespace {

// Maps times to own time. Before the first slice and behind the last one, the clock runs as usual.
class OwnClock {
 public:
  explicit OwnClock(std::span<const Slice> slices) : slices_(slices) {
    Nanoseconds cut = 0;
    for (size_t i = 0; i < slices.size(); ++i) {
      if (i > 0) cut += slices[i].first - slices[i - 1].second;
      cut_before_.push_back(cut);
    }
  }

  Nanoseconds at(Nanoseconds time) const {
    const size_t i = slice_before(time);
    if (i == slices_.size()) return time;
    const bool in_gap = time > slices_[i].second && i + 1 < slices_.size();
    return (in_gap ? slices_[i].second : time) - cut_before_[i];
  }
  // Returns how much is cut out before a time within a slice.
  Nanoseconds cut_at(Nanoseconds time) const {
    const size_t i = slice_before(time);
    return i == slices_.size() ? 0 : cut_before_[i];
  }
  bool in_gap(Nanoseconds time) const {
    const size_t i = slice_before(time);
    return i + 1 < slices_.size() && time > slices_[i].second;
  }

 private:
  // Returns the last slice that begins by then; slices_.size(): none does.
  size_t slice_before(Nanoseconds time) const {
    const auto after = std::upper_bound(slices_.begin(), slices_.end(), time, [](Nanoseconds t, const Slice& s) { return t < s.first; });
    return after == slices_.begin() ? slices_.size() : static_cast<size_t>(after - slices_.begin()) - 1;
  }

  std::span<const Slice> slices_;
  std::vector<Nanoseconds> cut_before_;  // up to the begin of each slice
};

double value_at(const Series& series, Nanoseconds time) {
  const auto after = std::lower_bound(series.times.begin(), series.times.end(), time);
  const auto i = static_cast<size_t>(after - series.times.begin());
  if (i == 0) return series.values.front();
  if (i == series.times.size()) return series.values.back();
  const double share = static_cast<double>(time - series.times[i - 1]) /
                       static_cast<double>(std::max<Nanoseconds>(series.times[i] - series.times[i - 1], 1));
  return series.values[i - 1] + share * (series.values[i] - series.values[i - 1]);
}

void cut_gauge(Series& series, const OwnClock& clock) {
  Series kept = series;
  kept.times.clear();
  kept.values.clear();
  for (size_t i = 0; i < series.times.size(); ++i) {
    if (clock.in_gap(series.times[i])) continue;
    kept.times.push_back(clock.at(series.times[i]));
    kept.values.push_back(series.values[i]);
  }
  series = std::move(kept);
}

// A reading stands at each cut, so that what grew in a slice is not spread over the next one.
void cut_counter(Series& series, std::span<const Slice> slices, const OwnClock& clock) {
  Series kept = series;
  kept.times.clear();
  kept.values.clear();
  double cut = 0;
  size_t next = 0;
  const auto take_until = [&](Nanoseconds until) {
    for (; next < series.times.size() && series.times[next] < until; ++next) {
      kept.times.push_back(clock.at(series.times[next]));
      kept.values.push_back(series.values[next] - cut);
    }
  };
  for (size_t i = 0; i + 1 < slices.size(); ++i) {
    const Nanoseconds from = slices[i].second, to = slices[i + 1].first;
    take_until(from);
    const double before = value_at(series, from);
    if (next > 0 && next < series.times.size()) {
      kept.times.push_back(clock.at(from));
      kept.values.push_back(before - cut);
    }
    cut += value_at(series, to) - before;
    while (next < series.times.size() && series.times[next] <= to) ++next;
  }
  take_until(INT64_MAX);
  series = std::move(kept);
}

}  // namespace

void cut_to_slices(Record& record, std::span<const Slice> slices) {
  if (slices.empty()) return;
  const OwnClock clock(slices);
  for (Window& window : record.windows) {
    window.begin = clock.at(window.begin);
    window.end = clock.at(window.end);
  }
  for (Timing& timing : record.timings) {
    const Nanoseconds cut = clock.cut_at(timing.begin);
    for (Nanoseconds* time : {&timing.scheduled, &timing.begin, &timing.end}) *time -= cut;
  }
  for (Series& series : record.series) {
    if (series.times.empty() || series.times.size() != series.values.size()) continue;
    series.counter ? cut_counter(series, slices, clock) : cut_gauge(series, clock);
  }
}

}  // namespace deepgap
