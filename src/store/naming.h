// Errors in a Store name it, since a command may read several.
#pragma once

#include <deepgap/error.h>

#include <fmt/format.h>

#include <string>

namespace deepgap {

// Returns what `read` gives; adds the path of the Store to its Error{input} if it is missing.
template <typename Read>
decltype(auto) naming(const std::string& path, Read read) {
  try {
    return read();
  } catch (const Error& error) {
    const std::string cause = error.what();
    if (error.kind() != ErrorKind::input || cause.find(path) != std::string::npos) throw;
    throw Error(ErrorKind::input, fmt::format("cannot read store {}: {}", path, cause));
  }
}

}  // namespace deepgap
