// What --shape and --input say of the inputs of a network.
#pragma once

#include "model/steering_inputs.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace deepgap {

// "input:1x3x224x224/mask:Nx7" (N or -1: as it is). Throws Error{usage}.
std::map<std::string, std::vector<int64_t>> parse_shapes(const std::string& text);
// "k=5/sizes=1x3x8x8/use_cache=true" (commas do as well). Throws Error{usage}.
InputNumbers parse_input_numbers(const std::string& text);

}  // namespace deepgap
