// Facts by name, as the type that is expected.
#pragma once

#include <deepgap/record.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace deepgap {

// Returns nullptr for a fact that is missing or of another type.
template <typename T>
const T* fact_as(const Facts& facts, const std::string& key) {
  const auto found = facts.find(key);
  return found == facts.end() ? nullptr : std::get_if<T>(&found->second);
}

template <typename T>
T fact_or(const Facts& facts, const std::string& key, T otherwise) {
  const T* value = fact_as<T>(facts, key);
  return value == nullptr ? std::move(otherwise) : *value;
}

// Returns a number that may be whole or real.
inline std::optional<double> fact_number(const Facts& facts, const std::string& key) {
  if (const double* real = fact_as<double>(facts, key)) return *real;
  const int64_t* whole = fact_as<int64_t>(facts, key);
  return whole == nullptr ? std::nullopt : std::optional(static_cast<double>(*whole));
}

}  // namespace deepgap
