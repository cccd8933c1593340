// Values that an option takes, by what is declared about it. Pure functions; any thread.
#pragma once

#include <deepgap/backend.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

using EngineOptions = std::map<std::string, std::string>;  // by names without prefix

// nullptr: none of that name.
const OptionInfo* find_option(const std::vector<OptionInfo>& options, const std::string& name);
// "fast or plain", "auto or a whole number from 1 to 1024", "a time such as 1ms"; empty for a text. `range` says what the option takes
// besides its words; empty: what its kind says.
std::string allowed_values(const OptionInfo& option, const std::string& range = "");
// "Samples to join into one batch at most [default: 1]", as help shows an option.
std::string described(const OptionInfo& option);
bool is_taken(const OptionInfo& option, const std::string& value);

// Throw Error{usage}: "native: invalid value '0' for streams: expected auto or a whole number from 1 to 8". `owner` is an engine or empty.
[[noreturn]] void refuse_value(const std::string& owner, const OptionInfo& option, const std::string& value, const std::string& place,
                               const std::string& range = "");
[[noreturn]] void refuse_name(const std::string& owner, const std::vector<OptionInfo>& declared, const std::string& name);
void check_option(const std::string& engine, const OptionInfo& option, const std::string& value);
// Checks each that is given, also that it is declared.
void check_options(const std::string& engine, const std::vector<OptionInfo>& declared, const EngineOptions& given);

// Numbers and times of an option, and how its limits are written. parse_time() takes "0" as well.
std::optional<double> parse_number(const std::string& text, double least, double most);
std::optional<double> parse_share(const std::string& text);  // from 0 to 1
std::string plain_number(double number);
std::string number_range(double least, double most);
std::optional<Nanoseconds> parse_time(const std::string& text, Nanoseconds least = 0, Nanoseconds most = never);
std::string time_text(Nanoseconds time);  // exact: "100ms"
std::string time_range(Nanoseconds least, Nanoseconds most, Nanoseconds example);

}  // namespace deepgap
