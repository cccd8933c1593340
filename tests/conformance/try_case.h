// A case that was kept (kept_case.h), once more on the backend that is open.
#pragma once

#include <string>

namespace deepgap::conformance {

// Loads and runs it in `precision` (empty: the one it was tried in) and compares with the reference interpreter. 0: right, 1: wrong, with
// the difference printed. Throws what loading throws.
int try_case(const std::string& folder, const std::string& precision);

}  // namespace deepgap::conformance
