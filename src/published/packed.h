// The files of studies/published as they were when the program was built: prices, tables and how to read them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace deepgap {

// Returns a packed file by name, "prices.toml". Throws Error{internal} if it is not there.
std::string_view packed_file(const std::string& name);
// All of them, by name.
const std::vector<std::pair<std::string, std::string_view>>& packed_files();

}  // namespace deepgap
