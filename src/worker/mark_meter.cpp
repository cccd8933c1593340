#include "worker/mark_meter.h"

#include "scenario/marked_time.h"
#include "worker/series_estimate.h"

#include <utility>

namespace deepgap {

void MarkMeter::on_completion(TargetCompletion completion) {
  watch(std::move(completion), [this](std::span<const Completed> completed) {
    for (const Completed& c : completed) {
      if (c.status == Status::ok) add(c.marks);
    }
  });
}

void MarkMeter::add(std::span<const Mark> marks) {
  const std::lock_guard lock(mutex_);
  const auto add_to = [&](RatioSeries& series, MarkId from, MarkId to) {
    if (const auto time = marked_time(marks, from, to)) series.add(static_cast<double>(*time) / 1e6, 1);
  };
  add_to(series_.copy_in, MarkId::h2d_begin, MarkId::compute_begin);
  add_to(series_.compute, MarkId::compute_begin, MarkId::compute_end);
  add_to(series_.copy_out, MarkId::compute_end, MarkId::d2h_end);
  add_to(series_.forward, MarkId::compute_begin, MarkId::forward_end);
  add_to(series_.backward, MarkId::forward_end, MarkId::backward_end);
  add_to(series_.allreduce, MarkId::backward_end, MarkId::allreduce_end);
  const bool reduced = marked_time(marks, MarkId::backward_end, MarkId::allreduce_end).has_value();
  add_to(series_.update, reduced ? MarkId::allreduce_end : MarkId::backward_end, MarkId::compute_end);
}

void MarkMeter::restart() {
  const std::lock_guard lock(mutex_);
  series_ = {};
}

std::map<std::string, Estimate> MarkMeter::estimates() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, Estimate> estimates;
  const auto put = [&](const std::string& id, const RatioSeries& series) {
    if (series.count() > 0) estimates[id] = estimate_of(series);
  };
  put("copy_in_ms", series_.copy_in);
  put("compute_ms", series_.compute);
  put("copy_out_ms", series_.copy_out);
  put("forward_ms", series_.forward);
  put("backward_ms", series_.backward);
  put("allreduce_ms", series_.allreduce);
  put("update_ms", series_.update);
  return estimates;
}

}  // namespace deepgap
