// Checks how the columns of one row must relate, and reports where what is printed says otherwise.
//
// Every printed number stands for an interval, half a unit of its last digit to either side; a derived one contradicts the others only
// where its interval and that of the recomputed value do not meet, so that rounding is never a finding. A throughput beside a time may have
// been read off a clock of its own: these two agree within 1 %. Where the expected value of a cell stands in another cell, which nothing
// else confirms, the two were swapped, and both are reported. Pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

// A printed number in deepgap's unit, and how far rounding may have moved it.
struct Printed {
  std::string column;
  double value = 0, half_unit = 0;
  double factor = 1;  // from what stands in the cell
};

struct Contradiction {
  int row = 0;  // from 1, below the header
  std::string column;
  double printed = 0, expected = 0;  // in the cell's unit
  std::string formula;               // "usd_per_hour / throughput_img_s / 3.6"
  std::string meaning;               // what the column means
  std::string label{};               // what the row is about: "resnet50, L4"
};

// Half a unit of the last digit of a number as it is written: "12.50" is 0.005, "5610" 0.5.
double half_unit_of(const std::string& text);

// Finds contradictions in one row: its numbers by what they mean. Throws nothing.
std::vector<Contradiction> contradictions_in(const std::map<std::string, Printed>& row);

}  // namespace deepgap
