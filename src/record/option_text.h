// How labels name an option of a Point.
#pragma once

#include <string>

namespace deepgap {

// "max_batch=8"; the latency SLO has the name of its flag: "slo=p99=15ms".
inline std::string option_text(const std::string& name, const std::string& value) { return (name == "bound" ? "slo" : name) + "=" + value; }

}  // namespace deepgap
