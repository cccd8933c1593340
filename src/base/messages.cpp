#include "base/messages.h"

#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <optional>

namespace deepgap {
namespace {

// "1% or 0.01" for "1%".
std::string both_spellings(std::string_view example) {
  const auto fraction = parse_fraction(example);
  return fraction ? fmt::format("{} or {:.6g}", example, *fraction) : std::string(example);
}

// A bare number from 1 on is nearly always meant as a percentage.
std::string meant(std::string_view text) {
  const auto number = parse_double(text);
  return number && *number >= 1 && *number < 100 ? fmt::format("; did you mean {}%?", text) : std::string();
}

double fraction_of(std::string_view text, std::string_view place, std::string_view example, bool may_be_zero) {
  const auto fraction = parse_fraction(text);
  const bool fits = fraction && *fraction < 1 && (may_be_zero ? *fraction >= 0 : *fraction > 0);
  if (fits) return *fraction;
  const char* range = !fraction ? "" : *fraction >= 1 ? " below 100 %" : may_be_zero ? " of at least 0 %" : " above 0 %";
  throw Error(
      ErrorKind::usage,
      invalid_value(text, place, fmt::format("a percentage or fraction{}, such as {}", range, both_spellings(example))) + meant(text));
}

}  // namespace

std::string one_of(std::vector<std::string> choices) {
  if (choices.size() < 2) return join(choices, "");
  const std::string last = choices.back();
  choices.pop_back();
  return fmt::format("{} or {}", join(choices, ", "), last);
}

std::string did_you_mean(std::string_view value, const std::vector<std::string>& choices) {
  const auto near = parse_double(value) ? std::nullopt : nearest_name(value, choices);
  return near ? fmt::format("; did you mean '{}'?", *near) : std::string();
}

std::string invalid_choice(std::string_view value, std::string_view place, const std::vector<std::string>& choices, std::string_view rest) {
  std::vector<std::string> expected = choices;
  if (!rest.empty()) expected.emplace_back(rest);
  return invalid_value(value, place, one_of(expected)) + did_you_mean(value, choices);
}

std::string invalid_value(std::string_view value, std::string_view place, std::string_view expected) {
  return fmt::format("invalid value '{}' for {}: expected {}", value, place, expected);
}

double checked_fraction(std::string_view text, std::string_view place, std::string_view example) {
  return fraction_of(text, place, example, true);
}

double checked_positive_fraction(std::string_view text, std::string_view place, std::string_view example) {
  return fraction_of(text, place, example, false);
}

}  // namespace deepgap
