// The time between two marks of a query.
#pragma once

#include <deepgap/session.h>

#include <algorithm>
#include <optional>
#include <span>

namespace deepgap {

// Nothing where a mark is missing or the two were taken on different clocks.
inline std::optional<Nanoseconds> marked_time(std::span<const Mark> marks, MarkId from, MarkId to) {
  const auto find = [&](MarkId id) { return std::find_if(marks.begin(), marks.end(), [id](const Mark& mark) { return mark.id == id; }); };
  const auto begin = find(from), end = find(to);
  if (begin == marks.end() || end == marks.end() || begin->clock != end->clock || end->ns < begin->ns) return std::nullopt;
  return end->ns - begin->ns;
}

}  // namespace deepgap
