// Facts of the environment that change from minute to minute.
#pragma once

#include <string_view>

namespace deepgap {

// Decides by the fact's key. Records need not share such facts: a Store keeps them with the Record, a summary of several omits them.
bool is_momentary(std::string_view fact);

}  // namespace deepgap
