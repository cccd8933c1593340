// Tests which Points the child that looked at them goes on with. The children are this test program, which lists its tests and ends.
#include "run/child_process.h"

#include "record/record_json.h"
#include "record/tenant_set.h"
#include "run/interrupts.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace deepgap {
namespace {

Point on_a_server() {
  Point point;
  point.backend = "kserve";
  point.model = "echo";
  point.placement.devices = {device_from("http://127.0.0.1:8000").value()};
  return point;
}

Point with(const std::string& option, const std::string& value) {
  Point point = on_a_server();
  point.options[option] = value;
  return point;
}

Point of(const std::string& model) {
  Point point;
  point.model = model;
  return point;
}

TEST(TheChildThatLooked, GoesOnWithAPointOnAServer) {
  EXPECT_TRUE(may_go_on(on_a_server()));
  EXPECT_TRUE(may_go_on(with("rate", "50")));
}

TEST(TheChildThatLooked, DoesNotWhereAFileIsReadOrAProcessMustBeginOtherwise) {
  EXPECT_FALSE(may_go_on(of("resnet18"))) << "an engine of this machine";
  EXPECT_FALSE(may_go_on(with("reference", "/proc/self/exe")));
  EXPECT_FALSE(may_go_on(with("env.OMP_NUM_THREADS", "1")));
  EXPECT_FALSE(may_go_on(with("affinity", "first")));
  std::vector<Point> tenants{with("rate", "50"), with("rate", "60")};
  join_tenants(tenants);
  EXPECT_FALSE(may_go_on(tenants.front()));
}

TEST(TheChildThatLooked, IsTheFirstWorkerOfSuchAPointAndOfNoOther) {
  Interrupts interrupts;
  ProcessHost host(interrupts);
  auto looked = std::make_unique<ChildProcess>("--gtest_list_tests");
  const ChildProcess* const child = looked.get();
  host.keep(std::move(looked));
  EXPECT_NE(host.start(of("resnet18")).get(), child);
  const auto first = host.start(on_a_server());
  EXPECT_EQ(first.get(), child);
  EXPECT_NE(host.start(on_a_server()).get(), child) << "a repeat has a process of its own";
}

}  // namespace
}  // namespace deepgap
