// Names as people write them: "FP16", "ort", "SingleStream", "GPU:1". Pure.
#pragma once

#include <string>

namespace deepgap {

// `value` of the axis `axis` (precision, backend, device, scenario, task) as we spell it; what is not known, and any other axis, as it is.
std::string usual_name(const std::string& axis, const std::string& value);

}  // namespace deepgap
