#include "worker/token_meter.h"

#include "scenario/query_number.h"

#include <utility>

namespace deepgap {

void TokenMeter::on_completion(TargetCompletion completion) {
  watch(std::move(completion), [this](std::span<const Completed> completed) {
    for (const Completed& c : completed)
      if (c.status == Status::ok && c.tokens != nullptr) add(c);
  });
}

void TokenMeter::add(const Completed& completed) {
  const uint64_t query = query_number(completed.query);
  TokenStream stream{query, 0, 0, *completed.tokens, {}};
  for (const Mark& mark : completed.marks) {
    if (mark.id != MarkId::tokens && mark.id != MarkId::reasoning_tokens) continue;
    stream.deliveries.push_back({mark.ns, mark.count, mark.id == MarkId::reasoning_tokens});
  }
  const std::lock_guard lock(mutex_);
  if (deliveries_ >= limit_) return;
  deliveries_ += stream.deliveries.size() + 1;
  kept_.emplace(query, std::move(stream));
}

void TokenMeter::restart() {
  const std::lock_guard lock(mutex_);
  kept_.clear();
  deliveries_ = 0;
}

std::vector<TokenStream> TokenMeter::streams(std::span<const Timing> timings) const {
  const std::lock_guard lock(mutex_);
  std::vector<TokenStream> streams;
  for (const Timing& timing : timings) {
    const auto found = kept_.find(timing.query);
    if (found == kept_.end()) continue;
    streams.push_back(found->second);
    streams.back().due = timing.scheduled;
    streams.back().end = timing.end;
  }
  return streams;
}

}  // namespace deepgap
