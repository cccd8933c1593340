#include "base/dump_json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace deepgap {
namespace {

TEST(DumpJson, ReplacesBytesThatAreNotUtf8) {
  const nlohmann::json json{{"a", "\xff"}};
  EXPECT_EQ(dump_line(json), "{\"a\":\"\xef\xbf\xbd\"}");
  EXPECT_EQ(dump_ascii_line(json), "{\"a\":\"\\ufffd\"}");
}

TEST(DumpJson, IndentsByTwoSpacesInAscii) { EXPECT_EQ(dump_indented(nlohmann::json{{"b", "\xc3\xa9"}}), "{\n  \"b\": \"\\u00e9\"\n}\n"); }

TEST(DumpJson, KeepsTheOrderOfAnOrderedObject) {
  nlohmann::ordered_json json;
  json["b"] = 1;
  json["a"] = 2;
  EXPECT_EQ(dump_indented(json), "{\n  \"b\": 1,\n  \"a\": 2\n}\n");
}

}  // namespace
}  // namespace deepgap
