// Arm: a Point's place among those that it took turns with in time slices: as a contender of a duel, by its options, or as one of several
// interleaved engines, by facts of its Records (record/duel_set.h). Pure functions.
#pragma once

#include "analysis/point_summary.h"

#include <deepgap/point.h>

#include <optional>
#include <string>

namespace deepgap {

struct Arm {
  int number = 1;             // from 1; the others are compared with the first
  std::string axis, name;     // "backend", "onnxruntime"
  std::string first;          // the name of the first
  Point common;               // the same for all arms of one comparison, and for no other Point
  double margin = 0;          // a smaller difference does not count
  bool is_contender = false;  // the Point was measured for the comparison alone, and its verdict is that of it
};
// nullopt: it was measured by itself, or its Records in different company.
std::optional<Arm> arm_of(const PointSummary& summary);

}  // namespace deepgap
