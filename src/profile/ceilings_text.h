// The ceilings of a device as a table for people: what `deepgap ceilings` prints.
#pragma once

#include "profile/show.h"

#include <string>

namespace deepgap {

std::string ceilings_table(const std::string& device, const ShownCeilings& machine);
nlohmann::json ceilings_table_json(const std::string& device, const ShownCeilings& machine);

}  // namespace deepgap
