// Kernels are files: kernels/NAME.cuh, which the build embeds. C++ writes the constants before a file's text, and launches what it compiles
// to.
#pragma once

#include <string>
#include <string_view>

namespace deepgap::gpu {

// Returns the text of kernels/NAME.cuh. Throws Error{internal} if there is no such file.
const std::string& kernel_file(std::string_view name);

}  // namespace deepgap::gpu
