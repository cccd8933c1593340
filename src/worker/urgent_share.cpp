#include "worker/urgent_share.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace deepgap {

void UrgentShare::submit(std::span<const Query> queries) {
  marked_.assign(queries.begin(), queries.end());
  {
    const std::lock_guard lock(mutex_);
    for (Query& query : marked_) {
      owed_ += share_;
      const Class of = owed_ >= 1 ? urgent : other;
      if (of == urgent) owed_ -= 1;
      query.priority = static_cast<int>(of);
      waiting_[query.id] = {query.scheduled, static_cast<uint32_t>(query.samples.size()), of};
    }
  }
  target().submit(marked_);
}

void UrgentShare::on_completion(TargetCompletion completion) {
  watch(std::move(completion), [this](std::span<const Completed> completed) {
    const Nanoseconds now = clock_.now();
    const std::lock_guard lock(mutex_);
    for (const Completed& c : completed) settle(c, now);
  });
}

void UrgentShare::settle(const Completed& completed, Nanoseconds now) {
  const auto found = waiting_.find(completed.query);
  if (found == waiting_.end()) return;
  Waiting& query = found->second;
  query.remaining -= std::min(completed.count, query.remaining);
  if (query.remaining > 0) return;
  if (completed.status == Status::ok) latencies_[query.of].add(now - query.scheduled);
  waiting_.erase(found);
}

void UrgentShare::restart() {
  const std::lock_guard lock(mutex_);
  latencies_ = {};
}

std::map<std::string, Estimate> UrgentShare::estimates() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, Estimate> estimates;
  for (const auto& [of, name] : {std::pair(urgent, "urgent"), std::pair(other, "other")}) {
    const LogHistogram& latencies = latencies_[of];
    if (latencies.count() == 0) continue;
    for (const int percent : {50, 99}) {
      estimates[fmt::format("{}_latency_p{}_ms", name, percent)] = {latencies.percentile(percent) / 1e6, {}, {}, latencies.count()};
    }
  }
  return estimates;
}

}  // namespace deepgap
