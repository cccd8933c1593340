#include "base/json_fields.h"

#include "base/test_error.h"

#include <gmock/gmock.h>

#include <limits>

namespace deepgap {
namespace {

enum class Colour { red, green };

struct Inner {
  std::string name;
  std::array<int, 2> pair{1, 2};
};

struct Outer {
  bool on = true;
  uint8_t small = 7;
  double number = 0.5;
  Colour colour = Colour::green;
  std::optional<int64_t> given, left_out, null;
  std::vector<Inner> list;
  std::map<std::string, std::vector<int64_t>> map;
  std::string path;
  int64_t newer = 3;
  bool rare = false;
};

template <typename V>
void fields(V& visit, Inner& inner) {
  visit("name", inner.name);
  visit("pair", inner.pair);
}

template <typename V>
void fields(V& visit, Outer& outer) {
  visit("on", outer.on);
  visit("small", outer.small);
  visit("number", outer.number);
  visit("colour", outer.colour);
  visit("given", outer.given);
  visit("left_out", outer.left_out);
  visit("null", or_null(outer.null));
  visit("list", outer.list);
  visit("map", outer.map);
  visit("path", Bytes{outer.path});
  visit("newer", may_be_missing(outer.newer));
  visit("rare", unless_default(outer.rare));
}

constexpr const char* example_text =
    R"({"colour":"green","given":9,"list":[{"name":"a","pair":[1,2]},{"name":"b","pair":[3,4]}],"map":{"x":[1,-1]},"newer":3,"null":null,)"
    R"("number":0.5,"on":true,"path":"p","small":7})";

}  // namespace

template <>
struct JsonText<Colour> {
  static std::string text(Colour colour) { return colour == Colour::red ? "red" : "green"; }
  static std::optional<Colour> parse(std::string_view text) {
    return text == "red" ? std::optional(Colour::red) : text == "green" ? std::optional(Colour::green) : std::nullopt;
  }
};

namespace {

Outer example() {
  Outer outer;
  outer.given = 9;
  outer.list = {{"a", {1, 2}}, {"b", {3, 4}}};
  outer.map["x"] = {1, -1};
  outer.path = "p";
  return outer;
}

std::string complaint(const std::string& pointer, const nlohmann::json& value) {
  nlohmann::json json = nlohmann::json::parse(example_text);
  json[nlohmann::json::json_pointer(pointer)] = value;
  return error_of([&] { json_to<Outer>(json, "thing"); }, ErrorKind::input);
}

TEST(JsonFields, AreWrittenAndReadByOneList) {
  EXPECT_EQ(json_of(example()).dump(), example_text);
  EXPECT_EQ(json_of(json_to<Outer>(nlohmann::json::parse(example_text), "thing")).dump(), example_text);
}

TEST(JsonFields, WhatJsonLacksComesBack) {
  Outer outer = example();
  outer.path = "no \xFF utf8";
  outer.number = -std::numeric_limits<double>::infinity();
  outer.rare = true;
  const nlohmann::json json = nlohmann::json::parse(json_of(outer).dump());
  EXPECT_EQ(json.at("number"), "-inf");
  const auto back = json_to<Outer>(json, "thing");
  EXPECT_EQ(back.path, outer.path);
  EXPECT_EQ(back.number, outer.number);
  EXPECT_TRUE(back.rare);
}

TEST(JsonFields, OlderAndNewerFilesAreRead) {
  nlohmann::json json = nlohmann::json::parse(example_text);
  json.erase("newer");
  json.erase("null");
  json["of_a_later_version"] = {1};
  EXPECT_EQ(json_to<Outer>(json, "thing").newer, 3);
}

TEST(JsonFields, WhatIsWrongIsNamedByItsPath) {
  EXPECT_EQ(complaint("/on", 1), "damaged thing: 'on' is neither true nor false");
  EXPECT_EQ(complaint("/small", 256), "damaged thing: 'small' is not a whole number in range");
  EXPECT_EQ(complaint("/colour", "blue"), "damaged thing: 'colour' has the unknown value \"blue\"");
  EXPECT_EQ(complaint("/list/1/name", 3), "damaged thing: 'list.1.name' is not a string");
  EXPECT_EQ(complaint("/list/1/pair", {1}), "damaged thing: 'list.1.pair' has 1 entries instead of 2");
  EXPECT_EQ(complaint("/list/0", 5), "damaged thing: 'list.0' is not a JSON object");
  EXPECT_EQ(complaint("/map/x", "none"), "damaged thing: 'map.x' is not a list");
  EXPECT_EQ(error_of([] { json_to<Outer>({{"on", true}}, "thing"); }, ErrorKind::input), "damaged thing: 'small' is missing");
  EXPECT_EQ(error_of([] { json_to<Outer>(nlohmann::json::array(), "thing"); }, ErrorKind::input), "damaged thing: it is not a JSON object");
}

}  // namespace
}  // namespace deepgap
