#include "scenario/waiting_queries.h"

#include <algorithm>

namespace deepgap {

WaitingQueries::Class& WaitingQueries::class_of(int priority) {
  return classes_[static_cast<size_t>(std::clamp(priority, 0, static_cast<int>(classes_.size()) - 1))];
}

Nanoseconds WaitingQueries::oldest() const {
  Nanoseconds oldest = never;
  for (const Class& c : classes_) {
    if (!c.queries.empty()) oldest = std::min(oldest, c.queries.front().arrived);
  }
  return oldest;
}

void WaitingQueries::push(const Query& query, Nanoseconds now) {
  Class& to = class_of(query.priority);
  to.queries.push_back({{query.id, 0, static_cast<uint32_t>(query.samples.size())}, now});
  to.samples.insert(to.samples.end(), query.samples.begin(), query.samples.end());
  ++queries_;
  samples_ += static_cast<int64_t>(query.samples.size());
}

void WaitingQueries::cut(int64_t count, std::vector<QueryPart>& parts, std::vector<uint32_t>& samples) {
  samples_ -= count;
  for (Class& from : classes_) {
    while (count > 0 && !from.queries.empty()) {
      QueryPart& left = from.queries.front().left;
      const auto taken = static_cast<uint32_t>(std::min<int64_t>(count, left.count));
      parts.push_back({left.query, left.first, taken});
      samples.insert(samples.end(), from.samples.begin(), from.samples.begin() + taken);
      from.samples.erase(from.samples.begin(), from.samples.begin() + taken);
      count -= taken;
      left.first += taken;
      left.count -= taken;
      if (left.count > 0) continue;
      from.queries.pop_front();
      --queries_;
    }
  }
}

std::optional<QueryPart> WaitingQueries::make_room(int priority, Shedding shedding) {
  const auto least_urgent = std::find_if(classes_.rbegin(), classes_.rend(), [](const Class& c) { return !c.queries.empty(); });
  if (least_urgent == classes_.rend() || &*least_urgent < &class_of(priority)) return std::nullopt;
  Class& from = *least_urgent;
  const bool newest = shedding == Shedding::reject_newest;
  if (newest && &from == &class_of(priority)) return std::nullopt;
  const size_t begun = from.queries.front().left.first > 0 ? 1 : 0;  // only the first can have begun
  if (begun == from.queries.size()) return std::nullopt;
  return remove(from, newest ? from.queries.size() - 1 : begun);
}

std::optional<QueryPart> WaitingQueries::pop() {
  const auto from = std::find_if(classes_.begin(), classes_.end(), [](const Class& c) { return !c.queries.empty(); });
  if (from == classes_.end()) return std::nullopt;
  return remove(*from, 0);
}

QueryPart WaitingQueries::remove(Class& from, size_t index) {
  const QueryPart gone = from.queries[index].left;
  // The last one's samples are at the end; any other is first or second.
  std::ptrdiff_t begin = 0;
  if (index + 1 == from.queries.size()) {
    begin = static_cast<std::ptrdiff_t>(from.samples.size() - gone.count);
  } else {
    for (size_t i = 0; i < index; ++i) begin += from.queries[i].left.count;
  }
  from.samples.erase(from.samples.begin() + begin, from.samples.begin() + begin + gone.count);
  from.queries.erase(from.queries.begin() + static_cast<std::ptrdiff_t>(index));
  --queries_;
  samples_ -= gone.count;
  return gone;
}

}  // namespace deepgap
