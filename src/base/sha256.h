// SHA-256 (FIPS 180-4), where another program is to check a file by it. For our own identities hash.h is quicker.
#pragma once

#include <string>
#include <string_view>

namespace deepgap {

std::string sha256(std::string_view bytes);  // 64 hex digits

}  // namespace deepgap
