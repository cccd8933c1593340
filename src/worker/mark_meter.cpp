#include "worker/mark_meter.h"

#include "scenario/marked_time.h"
#include "scenario/query_number.h"
#include "worker/series_estimate.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace deepgap {

void MarkMeter::on_completion(TargetCompletion completion) {
  watch(std::move(completion), [this](std::span<const Completed> completed) {
    for (const Completed& c : completed) {
      if (c.status == Status::ok && !c.marks.empty()) add(c.query, c.marks);
    }
  });
}

// In the order of marked_parts.
MarkMeter::Parts MarkMeter::parts_of(std::span<const Mark> marks) {
  const auto between = [&](MarkId from, MarkId to) { return marked_time(marks, from, to).value_or(none); };
  const Nanoseconds allreduce = between(MarkId::backward_end, MarkId::allreduce_end);
  return {between(MarkId::h2d_begin, MarkId::compute_begin),
          between(MarkId::compute_begin, MarkId::compute_end),
          between(MarkId::compute_end, MarkId::d2h_end),
          between(MarkId::compute_begin, MarkId::forward_end),
          between(MarkId::forward_end, MarkId::backward_end),
          allreduce,
          between(allreduce == none ? MarkId::backward_end : MarkId::allreduce_end, MarkId::compute_end)};
}

void MarkMeter::add(uint64_t query, std::span<const Mark> marks) {
  const Parts parts = parts_of(marks);
  if (std::all_of(parts.begin(), parts.end(), [](Nanoseconds ns) { return ns == none; })) return;
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < parts.size(); ++i)
    if (parts[i] != none) sums_[i].add(static_cast<double>(parts[i]) / 1e6, 1);
  if (kept_.size() < limit_) kept_.push_back({query_number(query), parts});
}

void MarkMeter::restart() {
  const std::lock_guard lock(mutex_);
  sums_ = {};
  kept_.clear();
}

std::map<std::string, Estimate> MarkMeter::estimates() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, Estimate> estimates;
  for (size_t i = 0; i < sums_.size(); ++i)
    if (sums_[i].count() > 0) estimates[marked_parts[i]] = estimate_of(sums_[i]);
  return estimates;
}

std::vector<Series> MarkMeter::series(std::span<const Timing> timings) const {
  const std::lock_guard lock(mutex_);
  std::unordered_map<uint64_t, Parts> by_query;
  for (const Kept& kept : kept_) {
    const auto [place, is_new] = by_query.try_emplace(kept.query, kept.parts);
    for (size_t i = 0; !is_new && i < kept.parts.size(); ++i) place->second[i] = std::max(place->second[i], kept.parts[i]);
  }
  std::vector<Series> all;
  for (size_t i = 0; i < marked_parts.size(); ++i) {
    Series series{marks_probe, marked_parts[i], "ms", false, {}, {}};
    for (const Timing& timing : timings) {
      const auto found = by_query.find(timing.query);
      if (found == by_query.end() || found->second[i] == none) continue;
      series.times.push_back(timing.end);
      series.values.push_back(static_cast<double>(found->second[i]) / 1e6);
    }
    if (!series.times.empty()) all.push_back(std::move(series));
  }
  return all;
}

}  // namespace deepgap
