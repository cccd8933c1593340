// The library's one Core in this process and what it says of the CPU. Only in a worker or inspection child. Thread-safe.
#pragma once

#include <openvino/runtime/core.hpp>

#include <string>

namespace deepgap {

// The core is made on the first call and never released: the library's threads and its own plug-ins may outlive static objects.
ov::Core& ov_core();
std::string ov_cpu_name();
bool ov_cpu_can(const std::string& capability);  // "BF16": runs it in hardware, as the library sees it

}  // namespace deepgap
