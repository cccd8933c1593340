// Values that an engine's option takes, by what the engine declares about it. Pure functions; any thread.
#pragma once

#include <deepgap/backend.h>

#include <map>
#include <string>
#include <vector>

namespace deepgap {

using EngineOptions = std::map<std::string, std::string>;  // by names without prefix

// "fast or plain", "auto or 1 to 1024", "a time such as 1ms"; empty of a text.
std::string allowed_values(const OptionInfo& option);
// Throws Error{usage} naming the engine, the option and what it takes.
void check_option(const std::string& engine, const OptionInfo& option, const std::string& value);
// ... of each that is given; and for one that is not declared, with "did you mean".
void check_options(const std::string& engine, const std::vector<OptionInfo>& declared, const EngineOptions& given);

}  // namespace deepgap
