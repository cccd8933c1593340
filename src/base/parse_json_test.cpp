#include "base/parse_json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace deepgap {
namespace {

std::string nested(size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

TEST(ParseJson, ReadsWhatTheLibraryReads) {
  EXPECT_EQ(parse_json(R"({"a":[1,{"b":"]["}]})").at("a").at(1).at("b"), "][");
  EXPECT_TRUE(parse_json("{torn").is_discarded());
  EXPECT_TRUE(parse_json("").is_discarded());
}

TEST(ParseJson, RefusesWhatIsNestedTooDeeply) {
  EXPECT_TRUE(parse_json(nested(most_json_levels)).is_array());
  EXPECT_TRUE(parse_json(nested(most_json_levels + 1)).is_discarded());
  EXPECT_TRUE(parse_json(R"({"error":)" + nested(1'000'000) + "}").is_discarded());
}

TEST(ParseJson, BracketsInStringsAreNoLevels) {
  const std::string brackets(2000, '[');
  EXPECT_EQ(parse_json("\"" + brackets + "\""), brackets);
  EXPECT_EQ(parse_json(R"(["\")" + brackets + R"(", "\\"])").at(0), "\"" + brackets);
}

}  // namespace
}  // namespace deepgap
