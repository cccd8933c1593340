// A published record: results that others measured, imported with their source. The mark is an option of the Point, so that such a Record
// is never a repeat of a measured one, and every label, row and export shows it.
#pragma once

#include "record/point_option.h"

#include <deepgap/point.h>

#include <string>

namespace deepgap {

inline constexpr const char* published_option = "published";
// A fact: the currency of costs that a Record was imported with.
inline constexpr const char* published_currency_fact = "published.currency";

// Returns who published it; empty: it was measured.
inline std::string publisher_of(const Point& point) { return option_of(point, published_option); }
inline bool is_published(const Point& point) { return point.options.contains(published_option); }

}  // namespace deepgap
