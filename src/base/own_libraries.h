// The folders of the plug-ins and libraries that came with deepgap.
#pragma once

#include <string>
#include <vector>

namespace deepgap {

// The folders of plug-ins: that of the library which holds `address`, and this program's (../lib/deepgap), through links. No other place is
// looked into: a library is code, and a folder above or the working directory may be anybody's. Any thread.
std::vector<std::string> own_plugin_folders(const void* address);

// Their folders `deps`, of libraries that others make. Any thread.
std::vector<std::string> own_library_folders(const void* address);

}  // namespace deepgap
