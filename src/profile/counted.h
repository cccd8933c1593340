// Counted kernels as tables: what `deepgap import ncu` shows of a file. Pure.
#pragma once

#include "kernels/ncu_csv.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace deepgap {

struct CountedFamily {
  std::string family;
  KernelSums sums;
};
// Orders families longest first if times were counted, else most kernels first.
std::vector<CountedFamily> counted_families(const std::vector<KernelCounters>& kernels);

std::string counted_text(const NcuFile& file, const std::string& title, size_t top);
nlohmann::json counted_json(const NcuFile& file, const std::string& title);

}  // namespace deepgap
