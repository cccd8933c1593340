// Checks every output of an answer, whatever protocol brought it.
#pragma once

#include "backends/common/port.h"
#include "backends/http/request_error.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace deepgap {

RequestError wrong_answer(const std::string& what);
std::string shape_text(std::span<const int64_t> shape);  // "[1,3]"

// Returns whether sizes are those of a tensor that there can be: none negative, at most 16 of them, 2^40 elements.
bool possible_shape(std::span<const int64_t> shape);
// Checks that an output of this possible shape and this datatype (empty: not reported) is what `port` says, and not empty.
std::optional<RequestError> check_output(const Port& port, std::span<const int64_t> shape, std::string_view datatype, int64_t batch);

}  // namespace deepgap
