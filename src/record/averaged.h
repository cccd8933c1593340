// An averaged record: a row of `deepgap export --by point` that was imported, in which several repeats, or one, are one value with its
// interval; the repeats are not here. The mark is an option of the Point, so that such a Record is never a repeat of a measured one, and
// every label, row and export shows it. The number of repeats is a fact: Points of one Line may differ in it.
#pragma once

#include "record/fact_values.h"

#include <deepgap/point.h>
#include <deepgap/record.h>

#include <cstdint>
#include <string>

namespace deepgap {

inline constexpr const char* averaged_option = "averaged";  // on
inline bool is_averaged(const Point& point) { return point.options.contains(averaged_option); }

// Facts about the Records behind the row: how many were used, how many there were, and between how many nodes its intervals are; on which
// machines they ran, where these were several.
inline constexpr const char* averaged_repeats_fact = "averaged.repeats";
inline constexpr const char* averaged_records_fact = "averaged.records";
inline constexpr const char* averaged_nodes_fact = "averaged.nodes";
inline constexpr const char* averaged_machines_fact = "averaged.machines";

// Return the counts of an averaged Record; any other Record counts as one.
inline int64_t repeats_in(const Record& record) { return fact_or<int64_t>(record.facts, averaged_repeats_fact, 1); }
inline int64_t records_in(const Record& record) { return fact_or<int64_t>(record.facts, averaged_records_fact, 1); }

}  // namespace deepgap
