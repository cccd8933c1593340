// Holds what NVIDIA's data sheets say about known GPUs, dense, at the sheet's clocks. It is shown beside measured values and never replaces
// them: most cards do not hold those clocks under load.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

struct DataSheet {
  std::string match;                         // part of the name that the driver reports
  std::string variant;                       // "H100 SXM5"
  std::string architecture;                  // "Hopper"
  std::map<std::string, double> flop_per_s;  // by precision; integer operations too. What the chip has no unit for is not there
  double memory_bytes_per_s = 0;
  double memory_bytes = 0;  // 0: made with several
  double power_w = 0;
  std::string source;
};

const std::vector<DataSheet>& data_sheets();
// Finds the data sheet by the driver's name of the device, such as "NVIDIA H100 80GB HBM3". The longest match wins. nullopt: not known.
std::optional<DataSheet> data_sheet_of(const std::string& device);

}  // namespace deepgap
