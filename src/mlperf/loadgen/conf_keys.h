// The keys of LoadGen's configuration files and what each does to the settings of a run.
#pragma once

#include "mlperf/loadgen/settings.h"

#include <optional>
#include <string>
#include <vector>

namespace deepgap {

// The file that may set a key: the round's rules (mlperf.conf) all of them, a user's file not the seeds.
enum class ConfRole { rules, user };

std::vector<std::string> conf_keys();

// Parses as LoadGen reads integers: decimal, 0x... or, with a leading 0, octal. nullopt: not one, or below 0.
std::optional<uint64_t> parse_conf_integer(const std::string& text);

// Sets `key`, which must be one of conf_keys(). Keys that LoadGen passes over in the settings' scenario change nothing. Throws Error{usage}
// with what is wrong and what to do, for a value out of the key's range and for what deepgap has not.
void set_conf_key(LoadgenSettings& settings, const std::string& key, const std::string& value, ConfRole role);

}  // namespace deepgap
