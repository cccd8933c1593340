// A profile's JSON as a compressed block, as it rests in the Store; docs/reference/database.md has the layout. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

namespace deepgap {

std::string encode_profile(std::string_view json);
std::string decode_profile(std::string_view block);  // throws Error{input}

}  // namespace deepgap
