// Explains wrong INT8 results on a CPU without VNNI.
#pragma once

#include <deepgap/point.h>

#include <string>

namespace deepgap {

// "; this CPU has no VNNI, without which onnxruntime sums INT8 products in 16 bits, which saturate". Empty where that cannot be the cause:
// on another device, with VNNI, in another precision, or with an engine that does not sum so.
std::string saturation_note(const std::string& backend, const DeviceId& device, Precision judged);
// The same on a CPU with these flags, as in the environment's cpu.flags.
std::string saturation_note(const std::string& backend, const DeviceId& device, Precision judged, const std::string& cpu_flags);

}  // namespace deepgap
