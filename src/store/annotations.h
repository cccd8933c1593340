// The kinds of Annotations, as the table `remarks` and the commands spell them. Pure functions; any thread.
#pragma once

#include <deepgap/record.h>

#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace deepgap {

enum class AnnotationKind { tag, note };
inline constexpr std::array annotation_kinds{AnnotationKind::tag, AnnotationKind::note};

constexpr std::string_view name_of(AnnotationKind kind) { return kind == AnnotationKind::tag ? "tag" : "note"; }
constexpr std::optional<AnnotationKind> annotation_kind_from(std::string_view name) {
  for (const AnnotationKind kind : annotation_kinds) {
    if (name_of(kind) == name) return kind;
  }
  return std::nullopt;
}

inline std::set<std::string>& texts_of(Annotations& annotations, AnnotationKind kind) {
  return kind == AnnotationKind::tag ? annotations.tags : annotations.notes;
}
inline const std::set<std::string>& texts_of(const Annotations& annotations, AnnotationKind kind) {
  return kind == AnnotationKind::tag ? annotations.tags : annotations.notes;
}

}  // namespace deepgap
