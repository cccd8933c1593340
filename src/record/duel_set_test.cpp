#include "record/duel_set.h"

#include "record/record_json.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace deepgap {
namespace {

std::vector<Point> duel_of_backends(const std::vector<std::string>& backends) {
  std::vector<Point> points(backends.size());
  for (size_t i = 0; i < points.size(); ++i) {
    points[i].model = "resnet50";
    points[i].backend = backends[i];
  }
  join_duel(points, "backend", backends);
  return points;
}

TEST(DuelSet, contenders_know_the_duel_and_their_place) {
  const std::vector<Point> points = duel_of_backends({"native", "onnxruntime", "openvino"});
  EXPECT_EQ(points[1].options.at("duel"), "backend: native + onnxruntime + openvino");
  EXPECT_EQ(points[1].options.at("contender"), "2/3");
  EXPECT_EQ(contender_place(points[1])->number, 2);
  EXPECT_EQ(contender_place(points[1])->count, 3);
  EXPECT_EQ(duel_axis(points[1]), "backend");
  EXPECT_EQ(contender_name(points[1]), "onnxruntime");
  EXPECT_EQ(first_contender_name(points[1]), "native");
}

TEST(DuelSet, all_of_one_duel_are_of_it_and_none_of_another) {
  const std::vector<Point> points = duel_of_backends({"native", "onnxruntime"});
  EXPECT_EQ(duel_of(points[0]), duel_of(points[1]));
  EXPECT_NE(duel_of(points[0]), duel_of(duel_of_backends({"native", "openvino"})[0]));
  std::vector<Point> other = duel_of_backends({"native", "onnxruntime"});
  other[0].batch = 8;
  EXPECT_NE(duel_of(points[0]), duel_of(other[0]));
}

TEST(DuelSet, options_of_one_engine_do_not_part_its_contender_from_the_others) {
  std::vector<Point> points = duel_of_backends({"native", "onnxruntime"});
  points[0].options["native.tune"] = "off";
  EXPECT_EQ(duel_of(points[0]), duel_of(points[1]));
  EXPECT_NE(duel_of(points[0]), duel_of(duel_of_backends({"native", "openvino"})[0]));
}

TEST(DuelSet, a_contender_is_another_point_than_the_same_alone) {
  const std::vector<Point> points = duel_of_backends({"native", "onnxruntime"});
  const Point alone = without_duel(points[0]);
  EXPECT_FALSE(contender_place(alone));
  EXPECT_NE(point_id(alone), point_id(points[0]));
}

TEST(DuelSet, files_differ_by_their_content) {
  std::vector<Point> points(2);
  points[0].model = "a.onnx";
  points[1].model = "b.onnx";
  join_duel(points, "model", std::vector<std::string>{"a.onnx", "b.onnx"});
  points[0].model_hash = "1";
  points[1].model_hash = "2";
  EXPECT_EQ(duel_of(points[0]), duel_of(points[1]));
}

TEST(DuelSet, what_is_no_place_is_none) {
  Point point;
  EXPECT_FALSE(contender_place(point));
  for (const char* text : {"1/2", "0/2", "3/2", "x", "1/2/3", ""}) {
    Point odd;
    odd.options["contender"] = text;
    EXPECT_FALSE(contender_place(odd)) << "no duel beside it";
    odd.options["duel"] = "batch: 1 + 2";
    EXPECT_EQ(contender_place(odd).has_value(), std::string(text) == "1/2") << text;
  }
}

}  // namespace
}  // namespace deepgap
