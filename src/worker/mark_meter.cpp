#include "worker/mark_meter.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace deepgap {
namespace {

// Nothing where a mark is missing or the two were taken on different clocks.
std::optional<Nanoseconds> between(std::span<const Mark> marks, MarkId from, MarkId to) {
  const auto find = [&](MarkId id) { return std::find_if(marks.begin(), marks.end(), [id](const Mark& mark) { return mark.id == id; }); };
  const auto begin = find(from), end = find(to);
  if (begin == marks.end() || end == marks.end() || begin->clock != end->clock || end->ns < begin->ns) return std::nullopt;
  return end->ns - begin->ns;
}

}  // namespace

void MarkMeter::on_completion(TargetCompletion completion) {
  watch(std::move(completion), [this](std::span<const Completed> completed) {
    for (const Completed& c : completed) {
      if (c.last && c.status == Status::ok) add(c.marks);
    }
  });
}

void MarkMeter::add(std::span<const Mark> marks) {
  const std::lock_guard lock(mutex_);
  const auto add_to = [&](RatioSeries& series, MarkId from, MarkId to) {
    if (const auto time = between(marks, from, to)) series.add(static_cast<double>(*time) / 1e6, 1);
  };
  add_to(copy_in_, MarkId::h2d_begin, MarkId::compute_begin);
  add_to(compute_, MarkId::compute_begin, MarkId::compute_end);
  add_to(copy_out_, MarkId::compute_end, MarkId::d2h_end);
}

std::map<std::string, Estimate> MarkMeter::estimates() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, Estimate> estimates;
  const auto put = [&](const std::string& id, const RatioSeries& series) {
    if (series.count() == 0) return;
    Estimate& estimate = estimates[id] = {series.sum_y() / series.sum_x(), {}, {}, series.count()};
    if (const auto mean = series.estimate()) {
      estimate.low = mean->interval().low;
      estimate.high = mean->interval().high;
    }
  };
  put("copy_in_ms", copy_in_);
  put("compute_ms", compute_);
  put("copy_out_ms", copy_out_);
  return estimates;
}

}  // namespace deepgap
