// Where the libraries lie that came with deepgap.
#pragma once

#include <string>
#include <vector>

namespace deepgap {

// The folders `deps` beside the library that holds `address`, and beside this program's plug-ins (../lib/deepgap/deps), through links. No
// other place is looked into: a library is code, and a folder above or the working directory may be anybody's. Any thread.
std::vector<std::string> own_library_folders(const void* address);

}  // namespace deepgap
