#include "base/option_values.h"

#include "base/messages.h"
#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace deepgap {
namespace {

std::string range_of(const OptionInfo& option) {
  switch (option.kind) {
    case OptionKind::text:
    case OptionKind::choice:
      return {};
    case OptionKind::count:
      return option.most == INT64_MAX ? fmt::format("a whole number from {}", option.least)
                                      : fmt::format("a whole number from {} to {}", option.least, option.most);
    case OptionKind::number:
      return "a number";
    case OptionKind::duration:
      return "a time such as 1ms";
  }
  return {};
}

}  // namespace

const OptionInfo* find_option(const std::vector<OptionInfo>& options, const std::string& name) {
  const auto found = std::find_if(options.begin(), options.end(), [&](const OptionInfo& option) { return option.name == name; });
  return found == options.end() ? nullptr : &*found;
}

std::string allowed_values(const OptionInfo& option, const std::string& range) {
  std::vector<std::string> values = option.words;
  if (std::string rest = range.empty() ? range_of(option) : range; !rest.empty()) values.push_back(std::move(rest));
  return one_of(std::move(values));
}

std::string described(const OptionInfo& option) {
  std::string text = option.describe;
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return option.default_value.empty() ? text : fmt::format("{} [default: {}]", text, option.default_value);
}

bool is_taken(const OptionInfo& option, const std::string& value) {
  if (option.kind == OptionKind::text) return true;
  if (std::find(option.words.begin(), option.words.end(), value) != option.words.end()) return true;
  if (option.kind == OptionKind::number) return parse_double(value).has_value();
  if (option.kind == OptionKind::duration) return parse_time(value).has_value();
  const auto count = option.kind == OptionKind::count ? parse_int(value) : std::nullopt;
  return count && *count >= option.least && *count <= option.most;
}

void refuse_value(const std::string& owner, const OptionInfo& option, const std::string& value, const std::string& place,
                  const std::string& range) {
  const std::string begin = owner.empty() ? "" : owner + ": ";
  throw Error(ErrorKind::usage, begin + invalid_value(value, place, allowed_values(option, range)) + did_you_mean(value, option.words));
}

void refuse_name(const std::string& owner, const std::vector<OptionInfo>& declared, const std::string& name) {
  std::vector<std::string> known;
  for (const OptionInfo& option : declared) known.push_back(option.name);
  throw Error(ErrorKind::usage, unknown_name(owner.empty() ? "option" : "option of " + owner, name, known));
}

void check_option(const std::string& engine, const OptionInfo& option, const std::string& value) {
  if (!is_taken(option, value)) refuse_value(engine, option, value, option.name);
}

void check_options(const std::string& engine, const std::vector<OptionInfo>& declared, const EngineOptions& given) {
  for (const auto& [name, value] : given) {
    const OptionInfo* option = find_option(declared, name);
    if (option == nullptr) refuse_name(engine, declared, name);
    check_option(engine, *option, value);
  }
}

std::optional<double> parse_number(const std::string& text, double least, double most) {
  const auto number = parse_double(text);
  return number && *number >= least && *number <= most ? number : std::nullopt;
}

std::optional<double> parse_share(const std::string& text) {
  const auto share = parse_fraction(text);
  return share && *share >= 0 && *share <= 1 ? share : std::nullopt;
}

std::string plain_number(double number) { return fmt::format("{:g}", number); }

std::string number_range(double least, double most) { return fmt::format("a number from {:.9g} to {:.9g}", least, most); }

std::optional<Nanoseconds> parse_time(const std::string& text, Nanoseconds least, Nanoseconds most) {
  const auto time = text == "0" ? std::optional<Nanoseconds>(0) : parse_duration(text);
  return time && *time >= least && *time <= most ? time : std::nullopt;
}

std::string time_text(Nanoseconds time) {
  if (time == 0) return "0";
  constexpr std::pair<Nanoseconds, const char*> units[] = {{3'600'000'000'000, "h"}, {60'000'000'000, "m"}, {1'000'000'000, "s"},
                                                           {1'000'000, "ms"},        {1000, "us"},          {1, "ns"}};
  const auto* unit = std::find_if(std::begin(units), std::end(units), [&](const auto& one) { return time % one.first == 0; });
  return fmt::format("{}{}", time / unit->first, unit->second);
}

std::string time_range(Nanoseconds least, Nanoseconds most, Nanoseconds example) {
  constexpr Nanoseconds usual = 2'000'000;
  const std::string such = time_text(example > 0 ? example : std::clamp(usual, least, most));
  if (most == never) return least == 0 ? "a time such as " + such : fmt::format("a time of {} or more, such as {}", time_text(least), such);
  return fmt::format("a time from {} to {}, such as {}", time_text(least), time_text(most), such);
}

}  // namespace deepgap
