// The kinds of Remarks, as the table `remarks` and the commands spell them. Pure functions; any thread.
#pragma once

#include <deepgap/record.h>

#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace deepgap {

enum class RemarkKind { tag, note };
inline constexpr std::array remark_kinds{RemarkKind::tag, RemarkKind::note};

constexpr std::string_view name_of(RemarkKind kind) { return kind == RemarkKind::tag ? "tag" : "note"; }
constexpr std::optional<RemarkKind> remark_kind_from(std::string_view name) {
  for (const RemarkKind kind : remark_kinds) {
    if (name_of(kind) == name) return kind;
  }
  return std::nullopt;
}

inline std::set<std::string>& texts_of(Remarks& remarks, RemarkKind kind) { return kind == RemarkKind::tag ? remarks.tags : remarks.notes; }
inline const std::set<std::string>& texts_of(const Remarks& remarks, RemarkKind kind) {
  return kind == RemarkKind::tag ? remarks.tags : remarks.notes;
}

}  // namespace deepgap
