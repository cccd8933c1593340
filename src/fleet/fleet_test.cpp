// Files of a fleet that somebody wrote by hand or a disk damaged.
#include "fleet/fleet.h"

#include "base/file.h"
#include "base/temporary_folder.h"
#include "base/test_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <functional>

namespace deepgap {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

// Returns the error for a fleet of one task whose file was changed so.
std::string said_of(const std::function<void(json&)>& change) {
  const TemporaryFolder folder;
  Fleet fleet;
  fleet.folder = folder / "fleet";
  fleet.id = "0123abcd";
  fleet.task_groups = {{.kind = 0, .model = "resnet50", .device = "cpu", .first_task = 0, .tasks = 1}};
  fleet.tasks = {{0, 1, 1.0}};
  write_fleet(fleet, {{Job{}}});
  EXPECT_EQ(read_fleet(fleet.folder).tasks.size(), 1U);
  json file = json::parse(read_text(fleet.folder + "/fleet.json"));
  change(file);
  write_file_atomic(fleet.folder + "/fleet.json", file.dump());
  return error_of([&] { read_fleet(fleet.folder); }, ErrorKind::input);
}

TEST(Fleet, WhatIsDamagedIsSaidInPlainWords) {
  for (const char* list : {"tasks", "lots", "kinds"})
    EXPECT_THAT(said_of([&](json& file) { file[list] = json::array(); }), HasSubstr("damaged: it has no tasks, lots or kinds")) << list;
  EXPECT_THAT(said_of([](json& file) { file["lots"][0]["tasks"] = 2; }), HasSubstr("a lot names tasks"));
  EXPECT_THAT(said_of([](json& file) { file["lots"][0]["first_task"] = -1; }), HasSubstr("a lot names tasks"));
  EXPECT_THAT(said_of([](json& file) { file["lots"][0]["kind"] = 1; }), HasSubstr("a lot names tasks or a kind"));
  EXPECT_THAT(said_of([](json& file) { file["tasks"][0][0] = 7; }), HasSubstr("a task names a lot"));
  EXPECT_THAT(said_of([](json& file) { file.erase("seed"); }),
              testing::AllOf(HasSubstr("damaged fleet: 'seed' is missing"), Not(HasSubstr("json.exception"))));
  EXPECT_THAT(said_of([](json& file) { file["cpus"] = "two"; }), Not(HasSubstr("json.exception")));
}

}  // namespace
}  // namespace deepgap
