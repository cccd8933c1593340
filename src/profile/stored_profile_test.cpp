#include "profile/stored_profile.h"
#include "profile/profile_change.h"
#include "profile/profile_table.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace deepgap {
namespace {

using ::testing::HasSubstr;

ProfiledLayer layer(const std::string& name, std::vector<std::string> nodes, Nanoseconds ns) {
  return {name, "conv", std::move(nodes), {"Conv"}, "fp32", ns, 1000, 2000, 4000};
}

StoredProfile example() {
  StoredProfile stored;
  stored.taken_unix_ns = 1'795'243'000'000'000'000;
  stored.header = {"", "fp32", 8, 2, "cpu"};
  stored.profile.engine = "native 0.1.0";
  stored.profile.batch = 8;
  stored.profile.rounds = 9;
  stored.profile.whole_ns = 3'100'000;
  stored.profile.layers = {layer("conv1+relu1", {"conv1", "relu1"}, 1'000'000), layer("reorder", {}, 500'000),
                           layer("=conv2", {"conv2"}, 1'500'000)};
  stored.machine.ceilings.compute = {{"fp32", "avx512", 1e11, 1e11, std::nullopt}};
  stored.machine.ceilings.memory = {{1 << 20, 1e11, 1e11, 1e11, std::nullopt}, {1 << 30, 1e10, 1e10, 1e10, std::nullopt}};
  stored.last_cache_bytes = 1 << 20;
  return stored;
}

TEST(StoredProfile, comes_back_as_it_went) {
  const StoredProfile stored = example();
  const StoredProfile back = parse_stored_profile(stored_profile_text(stored));
  EXPECT_EQ(stored_profile_text(back), stored_profile_text(stored));
  EXPECT_EQ(back.header.batch, 8);
  EXPECT_EQ(back.rows().whole_seconds, stored.rows().whole_seconds);
  EXPECT_EQ(back.rows().all.of_roof, stored.rows().all.of_roof);
  StoredProfile without = example();
  without.machine = {{}, false, "none are measured of this device"};
  EXPECT_EQ(parse_stored_profile(stored_profile_text(without)).machine.missing, "none are measured of this device");
}

TEST(StoredProfile, what_is_damaged_or_newer_says_so) {
  nlohmann::json json = nlohmann::json::parse(stored_profile_text(example()));
  const auto error = [](const std::string& text) {
    try {
      parse_stored_profile(text);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(error("x"), HasSubstr("damaged profile"));
  EXPECT_THAT(error("[1]"), HasSubstr("damaged profile"));
  EXPECT_THAT(error("{}"), HasSubstr("damaged profile"));
  json["profile"]["layers"] = "none";
  EXPECT_THAT(error(json.dump()), HasSubstr("damaged profile"));
  json["version"] = 7;
  EXPECT_THAT(error(json.dump()), HasSubstr("newer deepgap (version 7; this one knows 1)"));
}

TEST(ProfileTable, a_line_for_each_layer) {
  const StoredProfile stored = example();
  const std::string rows = profile_table_rows({"ab", "cd", "a,b.onnx", "native"}, stored);
  const std::string header = profile_table_header();
  const auto columns = std::count(header.begin(), header.end(), ',');
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 3);
  EXPECT_THAT(rows, HasSubstr("ab,cd,\"a,b.onnx\",native,cpu,fp32,8,2,conv1+relu1,conv,Conv,conv1+relu1,1,"));
  EXPECT_THAT(rows, HasSubstr(",'=conv2,")) << "no spreadsheet computes it";
  const std::string last = rows.substr(rows.rfind('\n', rows.size() - 2) + 1);
  EXPECT_EQ(std::count(last.begin(), last.end(), ','), columns + 1) << "the model has one of its own";
  EXPECT_EQ(owned_profile_json({"ab", "cd", "m", "native"}, stored).at("record_id"), "ab");
}

TEST(ProfileChange, layers_with_nodes_in_common_are_one_part) {
  LayerProfile a, b;
  a.whole_ns = 6'000'000;
  b.whole_ns = 4'000'000;
  a.layers = {layer("conv1", {"conv1"}, 1'000'000), layer("relu1", {"relu1"}, 500'000), layer("conv2+add", {"conv2", "add"}, 3'000'000),
              layer("conv3", {"conv3"}, 100'000)};
  b.layers = {layer("conv1+relu1", {"conv1", "relu1"}, 1'400'000), layer("reorder", {}, 200'000), layer("conv2", {"conv2"}, 1'000'000),
              layer("add", {"add"}, 300'000), layer("conv3", {"conv3"}, 100'000)};
  const ProfileChange change = profile_change(a, b);
  ASSERT_EQ(change.parts.size(), 4u);
  EXPECT_EQ(change.parts[0].name, "conv2 and 1 more");
  EXPECT_EQ(change.parts[0].layers_a, 1);
  EXPECT_EQ(change.parts[0].layers_b, 2);
  EXPECT_DOUBLE_EQ(change.parts[0].seconds_a, 0.003);
  EXPECT_DOUBLE_EQ(change.parts[0].seconds_b, 0.0013);
  EXPECT_EQ(change.parts[1].name, "added by the engine");
  EXPECT_EQ(change.parts[1].layers_a, 0);
  double before = 0, after = 0;
  for (const ProfilePart& part : change.parts) before += part.seconds_a, after += part.seconds_b;
  EXPECT_NEAR(before, 0.0046, 1e-12);
  EXPECT_NEAR(after, 0.003, 1e-12);
  const std::string text = profile_change_text(change, "old.db", "new.db", 2);
  EXPECT_THAT(text, HasSubstr("-1.700"));
  EXPECT_THAT(text, HasSubstr("and 2 more parts"));
}

TEST(ProfileChange, a_profile_beside_itself_did_not_change) {
  const LayerProfile same = example().profile;
  for (const ProfilePart& part : profile_change(same, same).parts) EXPECT_EQ(part.seconds_a, part.seconds_b) << part.name;
  EXPECT_TRUE(profile_change({}, {}).parts.empty());
}

}  // namespace
}  // namespace deepgap
