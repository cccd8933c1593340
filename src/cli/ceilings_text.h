// The ceilings of a device as a table for people: what `deepgap ceilings` prints.
#pragma once

#include "profile/show.h"

#include <string>

namespace deepgap {

// Its lines are at most `width` wide (0: as wide as they are).
std::string ceilings_table(const std::string& device, const ShownCeilings& machine, size_t width);
nlohmann::json ceilings_table_json(const std::string& device, const ShownCeilings& machine);

}  // namespace deepgap
