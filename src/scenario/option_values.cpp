#include "scenario/option_values.h"

#include "base/messages.h"
#include "base/quantity.h"
#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

constexpr double most_rate = 1e9;  // one a nanosecond, the clock's unit

[[noreturn]] void wrong_value(const std::string& name, const std::string& value, const std::string& wanted) {
  throw Error(ErrorKind::usage, invalid_value(value, name, wanted));
}

}  // namespace

int64_t whole_option(const ScenarioOptions& options, const std::string& name, int64_t least, int64_t most, int64_t fallback) {
  const auto found = options.find(name);
  if (found == options.end()) return fallback;
  const auto value = parse_int(found->second);
  if (!value || *value < least || *value > most) wrong_value(name, found->second, fmt::format("a whole number from {} to {}", least, most));
  return *value;
}

Nanoseconds time_option(const ScenarioOptions& options, const std::string& name, Nanoseconds least, Nanoseconds fallback) {
  const auto found = options.find(name);
  if (found == options.end()) return fallback;
  const auto value = parse_duration(found->second);
  if (!value || *value < least)
    wrong_value(name, found->second, fmt::format("a time of at least {} such as 500us, 20ms or 1s", format_duration(least)));
  return *value;
}

double share_option(const ScenarioOptions& options, const std::string& name, double fallback) {
  const auto found = options.find(name);
  if (found == options.end()) return fallback;
  const auto value = parse_fraction(found->second);
  if (!value || !(*value >= 0 && *value <= 1)) wrong_value(name, found->second, "a share from 0 to 1 such as 0.1 or 10%");
  return *value;
}

std::string choice_option(const ScenarioOptions& options, const std::string& name, const std::vector<std::string>& choices) {
  const auto found = options.find(name);
  if (found == options.end()) return choices.front();
  if (std::find(choices.begin(), choices.end(), found->second) == choices.end()) {
    wrong_value(name, found->second, "one of " + join(choices, ", "));
  }
  return found->second;
}

double rate_option(const ScenarioOptions& options, const std::string& scenario) {
  const auto found = options.find("rate");
  if (found == options.end()) {
    throw Error(ErrorKind::usage, fmt::format("scenario {} needs a rate of queries: give for example --rate 200 (a second)", scenario));
  }
  const auto value = parse_double(found->second);
  if (!value || !(*value > 0) || *value > most_rate) {
    wrong_value("rate", found->second, fmt::format("a number of queries a second above 0 and at most {}", short_text(most_rate, 3)));
  }
  return *value;
}

}  // namespace deepgap
