// The part of a profile's page with the GPU's counters: by family and for the network, or why there are none.
#pragma once

#include "profile/work_table.h"

#include <string>

namespace deepgap {

// The table alone: families, and the network; empty where nothing was counted.
std::string counted_table(const LayerProfile& profile, const WorkTable& table);
// HTML; empty where nobody asked for counters.
std::string counted_section(const LayerProfile& profile, const WorkTable& table);

}  // namespace deepgap
