// What deepgap's makers measured, packed into the program, by engine: what predictions are fitted to where the user has no Store.
#pragma once

#include <string>
#include <vector>

namespace deepgap {

struct MeasuredRow {
  std::string model, device, precision;  // device: as its driver tells it
  double batch = 1, seconds = 0;         // of a batch
  double memory_bytes = 0, power_w = 0;  // 0: not known
};

std::vector<std::string> measured_engines();
// Empty for an engine of which nothing is packed.
std::vector<MeasuredRow> measured_rows(const std::string& engine);

}  // namespace deepgap
