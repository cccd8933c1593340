// Structs as JSON. A struct names its fields once, for both directions, in a function beside it:
//     template <typename V>
//     void fields(V& visit, Window& window) {
//       visit("name", window.name);
//       visit("begin_ns", window.begin);
//     }
// json_of() and json_to() do the rest, for structs of structs, vectors and maps as well. Reading throws Error{input} "damaged record:
// 'windows.2.name' is missing"; keys that it does not know are passed over, so that a later version may add some.
#pragma once

#include "base/byte_text.h"
#include "base/dump_json.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <concepts>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace deepgap {

// Fields that are not always in the file. An std::optional that has no value is left out, and read where it is missing or null.
template <typename T>
struct MayBeMissing {  // written always; a file that is older has none, and the field stays as it is
  T& value;
};
template <typename T>
struct UnlessDefault {  // left out if it is as in a new T
  T& value;
};
template <typename T>
struct OrNull {  // an std::optional that is null if it has no value
  std::optional<T>& value;
};
// Names of files: bytes that need not be UTF-8 and come back as they were.
struct Bytes {
  std::string& value;
};
template <typename T>
MayBeMissing<T> may_be_missing(T& value) {
  return {value};
}
template <typename T>
UnlessDefault<T> unless_default(T& value) {
  return {value};
}
template <typename T>
OrNull<T> or_null(std::optional<T>& value) {
  return {value};
}

// A type that is a text in JSON specialises this with text(value) and parse(text), which returns an std::optional; one of another form
// with json(value) and parse(json, what).
template <typename T>
struct JsonText;
template <typename T>
struct JsonForm;

template <typename T>
concept IsText = requires(const T& value) {
  JsonText<T>::text(value);
};
template <typename T>
concept HasForm = requires(const T& value) {
  JsonForm<T>::json(value);
};

namespace json_detail {

template <typename T>
inline constexpr bool is_list = false;
template <typename T>
inline constexpr bool is_list<std::vector<T>> = true;
template <typename T, size_t N>
inline constexpr bool is_list<std::array<T, N>> = true;
template <typename T>
inline constexpr bool is_map = false;
template <typename T>
inline constexpr bool is_map<std::map<std::string, T>> = true;

// JSON has no infinities and no NaN: they are the texts "inf", "-inf" and "nan".
inline nlohmann::json number(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

}  // namespace json_detail

template <typename T>
nlohmann::json json_of(const T& value);

class FieldWriter {
 public:
  template <typename T>
  void operator()(const char* key, const T& value) {
    object_[key] = json_of(value);
  }
  template <typename T>
  void operator()(const char* key, const std::optional<T>& value) {
    if (value) object_[key] = json_of(*value);
  }
  template <typename T>
  void operator()(const char* key, MayBeMissing<T> field) {
    (*this)(key, field.value);
  }
  template <typename T>
  void operator()(const char* key, UnlessDefault<T> field) {
    if (field.value != T{}) (*this)(key, field.value);
  }
  template <typename T>
  void operator()(const char* key, OrNull<T> field) {
    object_[key] = field.value ? json_of(*field.value) : nlohmann::json(nullptr);
  }
  void operator()(const char* key, Bytes field) { object_[key] = as_utf8(field.value); }
  nlohmann::json take() && { return std::move(object_); }

 private:
  nlohmann::json object_ = nlohmann::json::object();
};

template <typename T>
nlohmann::json json_of(const T& value) {
  if constexpr (IsText<T>) {
    return std::string(JsonText<T>::text(value));
  } else if constexpr (HasForm<T>) {
    return JsonForm<T>::json(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return json_detail::number(value);
  } else if constexpr (std::is_same_v<T, std::string> || std::is_arithmetic_v<T>) {
    return value;
  } else if constexpr (json_detail::is_list<T>) {
    auto list = nlohmann::json::array();
    for (const auto& one : value) list.push_back(json_of(one));
    return list;
  } else if constexpr (json_detail::is_map<T>) {
    auto object = nlohmann::json::object();
    for (const auto& [key, one] : value) object[key] = json_of(one);
    return object;
  } else {
    FieldWriter writer;
    fields(writer, const_cast<T&>(value));  // one function for both directions; this one only looks
    return std::move(writer).take();
  }
}

// Where in a file a value stands: "windows.2.name" of a "record".
struct JsonPlace {
  const JsonPlace* outer;  // nullptr: this is the whole, and `name` says what it is
  std::string_view name;

  std::string path() const {
    return outer == nullptr || outer->outer == nullptr ? std::string(name) : outer->path() + "." + std::string(name);
  }
  [[noreturn]] void fail(const std::string& cause) const {
    const JsonPlace* whole = this;
    while (whole->outer != nullptr) whole = whole->outer;
    throw Error(ErrorKind::input, outer == nullptr ? fmt::format("damaged {}: it {}", name, cause)
                                                   : fmt::format("damaged {}: '{}' {}", whole->name, path(), cause));
  }
};

template <typename T>
void read_json(const nlohmann::json& json, const JsonPlace& place, T& value);

class FieldReader {
 public:
  FieldReader(const nlohmann::json& object, const JsonPlace& place) : object_(object), place_(place) {
    if (!object.is_object()) place.fail("is not a JSON object");
  }
  template <typename T>
  void operator()(const char* key, T& value) const {
    const auto found = object_.find(key);
    if (found == object_.end()) JsonPlace{&place_, key}.fail("is missing");
    read_json(*found, {&place_, key}, value);
  }
  template <typename T>
  void operator()(const char* key, std::optional<T>& value) const {
    const auto found = object_.find(key);
    if (found != object_.end() && !found->is_null()) read_json(*found, {&place_, key}, value.emplace());
  }
  template <typename T>
  void operator()(const char* key, MayBeMissing<T> field) const {
    if (object_.contains(key)) (*this)(key, field.value);
  }
  template <typename T>
  void operator()(const char* key, UnlessDefault<T> field) const {
    field.value = T{};
    if (object_.contains(key)) (*this)(key, field.value);
  }
  template <typename T>
  void operator()(const char* key, OrNull<T> field) const {
    (*this)(key, field.value);
  }
  void operator()(const char* key, Bytes field) const {
    (*this)(key, field.value);
    field.value = of_utf8(field.value);
  }

 private:
  const nlohmann::json& object_;
  const JsonPlace& place_;
};

namespace json_detail {

inline void read_number(const nlohmann::json& json, const JsonPlace& place, double& value) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (json.is_number()) {
    value = json.get<double>();
  } else if (json == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (json == "inf" || json == "-inf") {
    value = json == "inf" ? infinity : -infinity;
  } else {
    place.fail("is not a number");
  }
}

template <std::integral T>
void read_whole(const nlohmann::json& json, const JsonPlace& place, T& value) {
  const bool fits = json.is_number_unsigned() ? json.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<T>::max())
                                              : json.is_number_integer() && std::in_range<T>(json.get<int64_t>());
  if (!fits) place.fail("is not a whole number in range");
  value = json.get<T>();
}

template <typename T>
void read_list(const nlohmann::json& json, const JsonPlace& place, T& list) {
  if (!json.is_array()) place.fail("is not a list");
  if constexpr (requires { list.resize(0); }) {
    list.clear();
    list.resize(json.size());
  }
  if (json.size() != list.size()) place.fail(fmt::format("has {} entries instead of {}", json.size(), list.size()));
  for (size_t i = 0; i < list.size(); ++i) read_json(json[i], {&place, std::to_string(i)}, list[i]);
}

}  // namespace json_detail

template <typename T>
void read_json(const nlohmann::json& json, const JsonPlace& place, T& value) {
  if constexpr (IsText<T>) {
    if (!json.is_string()) place.fail("is not a string");
    const auto known = JsonText<T>::parse(json.get_ref<const std::string&>());
    if (!known) place.fail(fmt::format("has the unknown value {}", dump_line(json)));
    value = *known;
  } else if constexpr (HasForm<T>) {
    JsonForm<T>::read(json, place, value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!json.is_string()) place.fail("is not a string");
    value = json.get_ref<const std::string&>();
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!json.is_boolean()) place.fail("is neither true nor false");
    value = json.get<bool>();
  } else if constexpr (std::is_same_v<T, double>) {
    json_detail::read_number(json, place, value);
  } else if constexpr (std::is_integral_v<T>) {
    json_detail::read_whole(json, place, value);
  } else if constexpr (json_detail::is_list<T>) {
    json_detail::read_list(json, place, value);
  } else if constexpr (json_detail::is_map<T>) {
    if (!json.is_object()) place.fail("is not a JSON object");
    value.clear();
    for (const auto& [key, one] : json.items()) read_json(one, {&place, key}, value[key]);
  } else {
    FieldReader reader(json, place);
    fields(reader, value);
  }
}

// `what` names it in errors. Throws Error{input}.
template <typename T>
T json_to(const nlohmann::json& json, std::string_view what) {
  T value{};
  read_json(json, JsonPlace{nullptr, what}, value);
  return value;
}

}  // namespace deepgap
