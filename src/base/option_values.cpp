#include "base/option_values.h"

#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

std::string wanted(const OptionInfo& option) {
  switch (option.kind) {
    case OptionKind::text:
    case OptionKind::choice:
      return {};
    case OptionKind::count:
      return option.most == INT64_MAX ? fmt::format("a whole number from {}", option.least)
                                      : fmt::format("{} to {}", option.least, option.most);
    case OptionKind::number:
      return "a number";
    case OptionKind::duration:
      return "a time such as 1ms";
  }
  return {};
}

bool takes(const OptionInfo& option, const std::string& value) {
  if (option.kind == OptionKind::text) return true;
  if (std::find(option.words.begin(), option.words.end(), value) != option.words.end()) return true;
  if (option.kind == OptionKind::number) return parse_double(value).has_value();
  if (option.kind == OptionKind::duration) return parse_duration(value).has_value();
  const auto count = option.kind == OptionKind::count ? parse_int(value) : std::nullopt;
  return count && *count >= option.least && *count <= option.most;
}

}  // namespace

std::string allowed_values(const OptionInfo& option) {
  std::vector<std::string> values = option.words;
  if (std::string rest = wanted(option); !rest.empty()) values.push_back(std::move(rest));
  if (values.empty()) return {};
  const std::string last = values.back();
  values.pop_back();
  return values.empty() ? last : fmt::format("{} or {}", join(values, ", "), last);
}

void check_option(const std::string& engine, const OptionInfo& option, const std::string& value) {
  if (takes(option, value)) return;
  if (option.kind == OptionKind::choice)
    throw Error(ErrorKind::usage, fmt::format("{}: {}", engine, unknown_name(option.name, value, option.words)));
  throw Error(ErrorKind::usage, fmt::format("{}: {}={} is wrong, expected {}", engine, option.name, value, allowed_values(option)));
}

void check_options(const std::string& engine, const std::vector<OptionInfo>& declared, const EngineOptions& given) {
  for (const auto& [name, value] : given) {
    // clang 14 captures no structured binding unless it is named.
    const auto found =
        std::find_if(declared.begin(), declared.end(), [&name = name](const OptionInfo& option) { return option.name == name; });
    if (found != declared.end()) {
      check_option(engine, *found, value);
      continue;
    }
    std::vector<std::string> known;
    for (const OptionInfo& option : declared) known.push_back(option.name);
    throw Error(ErrorKind::usage, unknown_name(fmt::format("option of {}", engine), name, known));
  }
}

}  // namespace deepgap
