#include "record/tenant_set.h"

#include "record/record_json.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace deepgap {
namespace {

std::vector<Point> pair_of(const std::string& first, const std::string& second, const std::string& backend = "native") {
  std::vector<Point> points(2);
  points[0].model = first;
  points[1].model = second;
  for (Point& point : points) point.backend = backend;
  return points;
}

TEST(TenantSet, tells_only_what_sets_its_points_apart) {
  std::vector<Point> points = pair_of("resnet50", "mobilenet_v2", "libtorch_cuda");
  points[0].batch = 8;
  points[1].scenario = "server";
  points[1].options["rate"] = "20";
  join_tenants(points);
  EXPECT_EQ(points[0].options.at("tenants"), "resnet50 batch=8 scenario=batch + mobilenet_v2 batch=1 rate=20 scenario=server");
  EXPECT_EQ(points[1].options.at("tenant"), "2/2");
  EXPECT_EQ(points[1].options.at("tenant_cpus"), "share");
  EXPECT_EQ(tenant_name(points[1]), "mobilenet_v2 batch=1 rate=20 scenario=server");
}

TEST(TenantSet, equal_tenants_are_two_points) {
  std::vector<Point> points = pair_of("resnet50", "resnet50");
  join_tenants(points);
  EXPECT_EQ(points[0].options.at("tenants"), "resnet50 + resnet50");
  EXPECT_NE(point_id(points[0]), point_id(points[1]));
  EXPECT_EQ(without_tenants(points[0]), without_tenants(points[1]));
}

TEST(TenantSet, is_the_same_for_its_tenants_and_another_for_others) {
  std::set<TenantSetKey> sets;
  for (const char* backend : {"native", "onnxruntime"}) {
    for (const char* cpus : {"share", "split"}) {
      std::vector<Point> points = pair_of("resnet50", "mobilenet_v2", backend);
      points[1].options["rate"] = "20";
      for (Point& point : points) point.options["tenant_cpus"] = cpus;
      join_tenants(points);
      EXPECT_EQ(tenant_set_key(points[0]), tenant_set_key(points[1]));
      EXPECT_EQ(splits_cpus(points[0]), std::string(cpus) == "split");
      EXPECT_TRUE(sets.insert(tenant_set_key(points[0])).second);
    }
  }
}

TEST(TenantSet, may_be_joined_again) {
  std::vector<Point> points = pair_of("a.onnx", "b.onnx");
  join_tenants(points);
  points[0].model_hash = "12";
  join_tenants(points);
  EXPECT_EQ(points[1].options.at("tenants"), "a.onnx model_hash=12 + b.onnx") << "a changed file beside it is another Point";
  EXPECT_EQ(tenant_set_key(points[0]), tenant_set_key(points[1]));
}

TEST(TenantSet, a_point_alone_has_no_place) {
  Point point;
  EXPECT_FALSE(tenant_place(point));
  for (const char* wrong : {"", "1", "0/2", "3/2", "a/b", "1/2/3"}) {
    point.options["tenant"] = wrong;
    EXPECT_FALSE(tenant_place(point)) << wrong;
  }
  point.options["tenant"] = "2/3";
  ASSERT_TRUE(tenant_place(point));
  EXPECT_EQ(tenant_place(point)->number, 2);
  EXPECT_EQ(tenant_place(point)->count, 3);
}

}  // namespace
}  // namespace deepgap
