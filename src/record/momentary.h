// Which facts of the environment change from minute to minute.
#pragma once

#include <string_view>

namespace deepgap {

// By the fact's key. No two Records need share such facts: a Store keeps them with the Record, a summary of several leaves them out.
bool is_momentary(std::string_view fact);

}  // namespace deepgap
