// Fields of a struct to and from JSON objects. Only for the files of src/record.
#pragma once

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace deepgap {

// The text with every byte that is no part of valid UTF-8 replaced by U+FFFD.
std::string utf8_text(const std::string& text);

// JSON has no infinities and no NaN: they are the texts "inf", "-inf" and "nan".
inline nlohmann::json number_to_json(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

template <typename T>
nlohmann::json field_to_json(const T& value) {
  if constexpr (std::is_same_v<T, double>) {
    return number_to_json(value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return utf8_text(value);
  } else {
    return value;
  }
}

template <typename T>
void put(nlohmann::json& object, const char* key, const T& value) {
  object[key] = field_to_json(value);
}
template <typename T>
void put(nlohmann::json& object, const char* key, const std::optional<T>& value) {
  if (value) object[key] = field_to_json(*value);
}

// Reads the fields of one object; `what` names it in errors: "damaged record: ...".
class Fields {
 public:
  Fields(const nlohmann::json& object, std::string_view what) : object_(object), what_(what) {
    if (!object.is_object()) fail("it is not a JSON object");
  }
  template <typename T>
  void get(const char* key, T& value) const {
    const auto found = object_.find(key);
    if (found == object_.end()) fail(fmt::format("'{}' is missing", key));
    read(key, *found, value);
  }
  template <typename T>
  void get(const char* key, std::optional<T>& value) const {
    const auto found = object_.find(key);
    if (found == object_.end() || found->is_null()) return;
    read(key, *found, value.emplace());
  }
  const nlohmann::json* find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }
  const nlohmann::json& at(const char* key) const {
    const auto* found = find(key);
    if (found == nullptr) fail(fmt::format("'{}' is missing", key));
    return *found;
  }
  [[noreturn]] void fail(const std::string& cause) const { throw Error(ErrorKind::input, fmt::format("damaged {}: {}", what_, cause)); }

 private:
  void read(const char* key, const nlohmann::json& json, std::string& value) const {
    if (!json.is_string()) fail(fmt::format("'{}' is not a string", key));
    value = json.get_ref<const std::string&>();
  }
  void read(const char* key, const nlohmann::json& json, bool& value) const {
    if (!json.is_boolean()) fail(fmt::format("'{}' is neither true nor false", key));
    value = json.get<bool>();
  }
  void read(const char* key, const nlohmann::json& json, double& value) const {
    if (json.is_number()) {
      value = json.get<double>();
    } else if (json == "nan") {
      value = std::numeric_limits<double>::quiet_NaN();
    } else if (json == "inf" || json == "-inf") {
      value = json == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
    } else {
      fail(fmt::format("'{}' is not a number", key));
    }
  }
  template <typename T>
  requires std::is_integral_v<T>
  void read(const char* key, const nlohmann::json& json, T& value) const {
    const bool fits = json.is_number_unsigned() ? json.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<T>::max())
                                                : json.is_number_integer() && std::in_range<T>(json.get<int64_t>());
    if (!fits) fail(fmt::format("'{}' is not a whole number in range", key));
    value = json.get<T>();
  }

  const nlohmann::json& object_;
  std::string_view what_;
};

}  // namespace deepgap
