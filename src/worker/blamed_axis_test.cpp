#include "worker/blamed_axis.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <string>

namespace deepgap {
namespace {

Point wrong_point() {
  Point point;
  point.model = "net";
  point.backend = "engine";
  point.scenario = "server";
  point.weights = "best";
  point.placement = {2, {{"", "cuda", 0}}};
  point.options = {{"first", "1"}, {"second", "2"}};
  return point;
}

// Whom it blames where a Point is wrong as long as `is_wrong` holds.
std::string blamed(bool (*is_wrong)(const Point&)) {
  return blamed_axis(wrong_point(), "wrong", [&](const Point& point) {
    if (is_wrong(point)) throw Error(ErrorKind::usage, "wrong");
  });
}

TEST(BlamedAxis, IsTheOneWithoutWhoseValueTheMistakeIsNotMade) {
  EXPECT_EQ(blamed([](const Point& p) { return p.backend == "engine"; }), "backend");
  EXPECT_EQ(blamed([](const Point& p) { return p.options.contains("second"); }), "second");
  EXPECT_EQ(blamed([](const Point& p) { return p.scenario == "server" && !p.options.contains("rate"); }), "scenario");
  EXPECT_EQ(blamed([](const Point& p) { return p.weights == "best" && p.model == "net"; }), "weights") << "it depends on the model";
  EXPECT_EQ(blamed([](const Point& p) { return p.placement.processes > 1 && p.backend == "engine"; }), "processes");
  EXPECT_EQ(blamed([](const Point& p) { return p.placement.devices.front().kind == "cuda" && p.backend == "engine"; }), "device");
}

TEST(BlamedAxis, IsNoneWhereNoSingleValueIsToBlame) {
  EXPECT_EQ(blamed([](const Point&) { return true; }), "");
}

TEST(BlamedAxis, AnotherMistakeIsAnotherAnswer) {
  const auto inspect = [](const Point& point) { throw Error(ErrorKind::usage, point.model == "net" ? "wrong" : "no model"); };
  EXPECT_EQ(blamed_axis(wrong_point(), "wrong", inspect), "model");
}

TEST(BlamedAxis, OfValuesThatAreAllNeededIsTheOneThatTheMistakeQuotes) {
  const auto inspect = [](const Point& point) {
    if (!point.options.contains("first")) throw Error(ErrorKind::usage, "first is missing");
    throw Error(ErrorKind::usage, point.model == "net" ? "unknown model 'net'" : "no model");
  };
  EXPECT_EQ(blamed_axis(wrong_point(), "unknown model 'net'", inspect), "model");
}

TEST(BlamedAxis, OfValuesThatAreAllNeededIsTheLongestThatTheMistakeNames) {
  Point point = wrong_point();
  point.model = "dir/4/missing.gguf";
  point.options = {{"clients", "4"}};
  const std::string mistake = "cannot open dir/4/missing.gguf: No such file or directory";
  const auto inspect = [&](const Point& other) {
    if (!other.options.contains("clients")) throw Error(ErrorKind::usage, "clients are missing");
    throw Error(ErrorKind::input, other.model.empty() ? "no model" : mistake);
  };
  EXPECT_EQ(blamed_axis(point, mistake, inspect), "model");
}

TEST(BlamedAxis, OfManyOptionsThoseAreTriedThatTheMistakeNames) {
  Point point = wrong_point();
  for (int i = 0; i < 10'000; ++i) point.options.emplace("env.A" + std::to_string(i), "1");
  const std::string mistake = "'A4711' is wrong";
  int looks = 0;
  const std::string blamed = blamed_axis(point, mistake, [&](const Point& other) {
    ++looks;
    if (other.options.contains("env.A4711")) throw Error(ErrorKind::usage, mistake);
  });
  EXPECT_EQ(blamed, "env.A4711");
  EXPECT_EQ(looks, 1);
}

TEST(BlamedAxis, IsNotWhatThePointNeeds) {
  const auto inspect = [](const Point& point) {
    if (!point.options.contains("first")) throw Error(ErrorKind::usage, "first is missing");
    if (point.weights == "best") throw Error(ErrorKind::usage, "wrong");
  };
  EXPECT_EQ(blamed_axis(wrong_point(), "wrong", inspect), "weights");
}

}  // namespace
}  // namespace deepgap
