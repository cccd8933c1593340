// Reading a backend's options. All throw Error{usage}, naming the engine, the option and what it takes.
#pragma once

#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

namespace deepgap {

using BackendOptions = std::map<std::string, std::string>;

// The value of the choice that was given; `fallback` where none was.
template <typename T>
T option_choice(const std::string& engine, const BackendOptions& options, const std::string& name, const std::map<std::string, T>& choices,
                const T& fallback) {
  const auto given = options.find(name);
  if (given == options.end()) return fallback;
  if (const auto found = choices.find(given->second); found != choices.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [choice, value] : choices) names.push_back(choice);
  throw Error(ErrorKind::usage, fmt::format("{}: {}", engine, unknown_name(name, given->second, names)));
}

// A count from 1 to 1024; `fallback` where none was given. With `automatic`, the word "auto" stands for the fallback too.
inline int option_count(const std::string& engine, const BackendOptions& options, const std::string& name, int fallback,
                        bool automatic = false) {
  const auto given = options.find(name);
  if (given == options.end() || (automatic && given->second == "auto")) return fallback;
  const auto count = parse_int(given->second);
  if (!count || *count < 1 || *count > 1024) {
    throw Error(ErrorKind::usage,
                fmt::format("{}: {}={} is wrong, expected {}1 to 1024", engine, name, given->second, automatic ? "auto or " : ""));
  }
  return static_cast<int>(*count);
}

}  // namespace deepgap
