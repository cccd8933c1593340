// Reads what the operating system says about the machine; for devices().
#pragma once

#include <cstdint>
#include <string>

namespace deepgap {

std::string cpu_name();       // "Intel(R) Xeon(R) ...", "CPU" when it does not say
int64_t host_memory_bytes();  // -1: not known

}  // namespace deepgap
