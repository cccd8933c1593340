#include "worker/point_options.h"

#include "worker/input_values.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

namespace deepgap {
namespace {

const std::vector<OptionInfo> engine{{"latency", "", "1ms"}, {"seed", "", "1"}, {"mode", "", "", true}};
const std::vector<OptionInfo> scenario{{"in_flight", "", "1"}};

Point point_with(std::map<std::string, std::string> options) {
  Point point;
  point.backend = "null";
  point.options = std::move(options);
  return point;
}

std::string message_of(const Point& point) {
  try {
    sort_options(point, engine, scenario);
    return "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
}

TEST(PointOptions, go_to_whom_they_are_for) {
  const PointOptions sorted = sort_options(
      point_with({{"latency", "2ms"}, {"in_flight", "3"}, {"seed", "7"}, {"samples", "9"}, {"streams", "2"}, {"env.OMP_X", "1"}}), engine,
      scenario);
  EXPECT_EQ(sorted.backend, (std::map<std::string, std::string>{{"latency", "2ms"}, {"seed", "7"}}));
  EXPECT_EQ(sorted.scenario, (std::map<std::string, std::string>{{"in_flight", "3"}}));
  EXPECT_EQ(sorted.environment, (std::map<std::string, std::string>{{"OMP_X", "1"}}));
  EXPECT_EQ(sorted.seed, 7U);
  EXPECT_EQ(sorted.samples, 9);
  EXPECT_EQ(sorted.streams, 2);
}

TEST(PointOptions, a_prefix_names_one_backend) {
  const PointOptions sorted =
      sort_options(point_with({{"null.latency", "2ms"}, {"latency", "1ms"}, {"other.path", "plain"}}), engine, scenario);
  EXPECT_EQ(sorted.backend, (std::map<std::string, std::string>{{"latency", "2ms"}}));
}

TEST(PointOptions, unknown_names_and_wrong_values_are_one_line) {
  EXPECT_EQ(message_of(point_with({{"latncy", "1"}})), "unknown option of null 'latncy', did you mean 'latency'?");
  EXPECT_EQ(message_of(point_with({{"foo", "1"}})), "unknown option of null 'foo'; deepgap backends null and deepgap run --help list them");
  EXPECT_NE(message_of(point_with({{"null.latncy", "1"}})), "no error");
  EXPECT_EQ(message_of(point_with({{"samples", "0"}})), "invalid value '0' for samples: expected a whole number from 1 to 65536");
  EXPECT_NE(message_of(point_with({{"shape", "input=3"}})).find("'input=3' for shape"), std::string::npos);
}

TEST(PointOptions, shapes) {
  const auto shapes = parse_shapes("a:0:Nx3x224/mask:1x7");
  EXPECT_EQ(shapes, (std::map<std::string, std::vector<int64_t>>{{"a:0", {-1, 3, 224}}, {"mask", {1, 7}}}));
  EXPECT_TRUE(parse_shapes("").empty());
  EXPECT_EQ(parse_shapes("a:0x3").at("a"), (std::vector<int64_t>{0, 3})) << "a state may start empty";
  EXPECT_EQ(parse_shapes("model/x:0:1x2/y:3").at("model/x:0"), (std::vector<int64_t>{1, 2}));
  for (const char* wrong : {"a", "a:", ":3", "a:-2", "a:3x", "a:3xy", "a:99999999999"}) EXPECT_THROW(parse_shapes(wrong), Error) << wrong;
}

TEST(PointOptions, only_process_wide_options_part_processes) {
  EXPECT_EQ(process_key(point_with({{"latency", "1ms"}, {"in_flight", "2"}, {"samples", "4"}}), engine), "");
  EXPECT_EQ(process_key(point_with({{"mode", "2"}, {"env.X", "1"}, {"affinity", "first"}, {"other.mode", "3"}}), engine),
            "affinity=first;env.X=1;mode=2;");
  EXPECT_EQ(process_key(point_with({{"null.mode", "2"}}), engine), "null.mode=2;");
}

TEST(PointOptions, affinity) {
  const std::vector<int> allowed{0, 2, 4, 6};
  EXPECT_TRUE(affinity_cpus("none", 2, allowed).empty());
  EXPECT_EQ(affinity_cpus("first", 2, allowed), (std::vector<int>{0, 2}));
  EXPECT_EQ(affinity_cpus("first", 9, allowed), allowed);
  EXPECT_EQ(affinity_cpus("4/6", 1, allowed), (std::vector<int>{4, 6}));
  EXPECT_EQ(affinity_cpus("0-0", 1, allowed), (std::vector<int>{0}));
  EXPECT_THROW(affinity_cpus("0-2", 1, allowed), Error) << "CPU 1 is not allowed";
  for (const char* wrong : {"a", "3-1", "1-2-3", "/"}) EXPECT_THROW(affinity_cpus(wrong, 1, allowed), Error) << wrong;
}

TEST(PointOptions, AnotherScenariosOptionIsToldFromAnUnknownOne) {
  Point point;
  point.scenario = "batch";
  point.options = {{"rate", "200"}};
  try {
    sort_options(point, {}, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "'rate' is not an option of scenario batch; it belongs to bursty, constant, server");
  }
  point.options = {{"bound", "p99=15ms"}};
  EXPECT_EQ(sort_options(point, {}, {}).bound->limit, 15'000'000);
}

TEST(PointOptions, NumbersOfInputs) {
  EXPECT_EQ(parse_input_numbers("k=5/a/sizes=1x3x-1/scale=0.5,2/use_cache=true"),
            (InputNumbers{{"k", {5}}, {"a/sizes", {1, 3, -1}}, {"scale", {0.5, 2}}, {"use_cache", {1}}}));
  EXPECT_TRUE(parse_input_numbers("").empty());
  for (const char* wrong : {"k", "k=", "=5", "k=five", "k=5/b", "k=5/k=3"}) EXPECT_THROW(parse_input_numbers(wrong), Error) << wrong;
}

}  // namespace
}  // namespace deepgap
