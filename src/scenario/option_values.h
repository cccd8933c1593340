// Values of a scenario's options. Each gives `fallback` where the option is not there and throws Error{usage} naming the option, its value
// and what it takes.
#pragma once

#include <deepgap/clock.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace deepgap {

using ScenarioOptions = std::map<std::string, std::string>;

int64_t whole_option(const ScenarioOptions& options, const std::string& name, int64_t least, int64_t most, int64_t fallback);
Nanoseconds time_option(const ScenarioOptions& options, const std::string& name, Nanoseconds least, Nanoseconds fallback);
double share_option(const ScenarioOptions& options, const std::string& name, double fallback);  // from 0 to 1, "10%" or 0.1
// One of `choices`, the first where the option is not there.
std::string choice_option(const ScenarioOptions& options, const std::string& name, const std::vector<std::string>& choices);
// Queries a second. There is no fallback: a scenario that needs a rate cannot guess it. `scenario` is for the message.
double rate_option(const ScenarioOptions& options, const std::string& scenario);

inline constexpr int64_t most_in_flight = 1024;
inline int64_t in_flight_option(const ScenarioOptions& options, int64_t fallback) {
  return whole_option(options, "in_flight", 1, most_in_flight, fallback);
}
inline constexpr const char* in_flight_by_slots =
    "queries submitted and not yet completed, at most; left out: as many as the session has slots (--streams)";
inline uint64_t seed_option(const ScenarioOptions& options) {
  return static_cast<uint64_t>(whole_option(options, "seed", 0, INT64_MAX, 1));
}

}  // namespace deepgap
