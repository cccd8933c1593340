#include "base/json_words.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <stdexcept>

namespace deepgap {
namespace {

std::string words_of(const std::function<void()>& read) {
  try {
    read();
  } catch (const std::exception& error) {
    return json_words(error);
  }
  return "";
}

TEST(JsonWords, AreAboutTheFileAndNotAboutTheLibrary) {
  const auto at = [](const char* text) { return words_of([&] { nlohmann::json::parse(text, nullptr, false).at("lots"); }); };
  EXPECT_EQ(at("{}"), "key 'lots' not found");
  EXPECT_EQ(at("[]"), "a value of another type is expected, and it is array");
  EXPECT_EQ(at("null"), "a value of another type is expected, and it is null");
  EXPECT_EQ(at("{"), "it is not JSON");
  EXPECT_EQ(words_of([] { throw std::runtime_error("cannot use x with y"); }), "cannot use x with y");
}

}  // namespace
}  // namespace deepgap
