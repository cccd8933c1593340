// Prices from a TOML file; docs/reference/files.md has the format. Pure but for the file; any thread.
#pragma once

#include "analysis/cost/prices.h"

#include <chrono>
#include <string>

namespace deepgap {

// `name` is a file, or "studies": the packed prices of the studies, labelled as dated. Throws Error{input|usage} "FILE:LINE: cause": a
// price that is negative or dated in the future, two currencies, two prices of one name, an unknown key.
Prices open_prices(const std::string& name);

// Reads prices from text; `label` is for errors and for people. `today` decides what is old.
Prices read_prices(const std::string& text, const std::string& label, std::chrono::sys_days today);

}  // namespace deepgap
