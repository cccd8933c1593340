// Turns the failure of a call of an NVIDIA library into an Error.
#pragma once

#include <string>

namespace deepgap::cuda {

// Throws: Error{out_of_memory} where `is_memory`; Error{device_lost} where the device is, for which the libraries have no word; else
// Error{internal}. "cuBLASLt says NAME while DOING".
[[noreturn]] void throw_library_error(const std::string& library, const std::string& name, const std::string& doing, bool is_memory);

}  // namespace deepgap::cuda
