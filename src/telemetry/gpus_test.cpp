#include "telemetry/gpus.h"

#include "base/throttle.h"
#include "telemetry/nvml_fake.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace deepgap {
namespace {

using ::testing::HasSubstr;
using Level = Advice::Level;

std::vector<Advice> advice_about(FakeNvml fake) { return examine_gpus(inspect_gpus(fake.loader())); }

const Advice* find(const std::vector<Advice>& advice, const std::string& subject) {
  const auto found = std::find_if(advice.begin(), advice.end(), [&](const Advice& a) { return a.subject == subject; });
  return found == advice.end() ? nullptr : &*found;
}

TEST(Gpus, without_a_driver_there_is_a_reason_and_no_gpu) {
  const auto inventory = inspect_gpus([] { return NvmlLoad{{}, "libnvidia-ml.so.1 is not here"}; });
  EXPECT_TRUE(inventory.gpus.empty());
  const auto advice = examine_gpus(inventory);
  ASSERT_EQ(advice.size(), 1u);
  EXPECT_EQ(advice[0].finding, "no GPU: libnvidia-ml.so.1 is not here");
  EXPECT_EQ(advice[0].level, Level::ok);
}

TEST(Gpus, an_idle_gpu_as_delivered_is_fine) {
  const auto advice = advice_about({{FakeGpu{.reasons = 1, .busy = 0}}});
  ASSERT_EQ(advice.size(), 1u);
  EXPECT_EQ(advice[0].level, Level::ok);
  EXPECT_THAT(advice[0].finding, HasSubstr("NVIDIA H200"));
}

TEST(Gpus, what_spoils_measurements_is_told) {
  FakeGpu gpu{.reasons = 0x44, .limit_mw = 500'000, .processes = 2, .persistence = 0, .mig = 1};
  gpu.ecc = 0;
  const auto advice = advice_about({{gpu}});
  EXPECT_THAT(find(advice, "cuda:0 power cap")->finding, HasSubstr("capped at 500 W; 700 W"));
  EXPECT_THAT(find(advice, "cuda:0 other processes")->finding, HasSubstr("2 processes"));
  EXPECT_THAT(find(advice, "cuda:0 clocks")->finding, HasSubstr("sw_power_cap, hw_thermal_slowdown"));
  EXPECT_EQ(find(advice, "cuda:0 persistence")->level, Level::note);
  EXPECT_EQ(find(advice, "cuda:0 MIG")->level, Level::warning);
  EXPECT_NE(find(advice, "cuda:0 ECC"), nullptr);
  EXPECT_EQ(advice.front().level, Level::warning);
}

TEST(Gpus, several_gpus_know_their_paths) {
  FakeNvml fake{{FakeGpu{}, FakeGpu{.uuid = "GPU-2", .bus_id = "00000000:2A:00.0"}}};
  const auto text = [](const Facts& facts, const char* key) { return std::get<std::string>(facts.at(key)); };
  const auto inventory = inspect_gpus(fake.loader());
  ASSERT_EQ(inventory.gpus.size(), 2u);
  EXPECT_EQ(text(inventory.gpus[0], "path_to_1"), "SYS");
  for (FakeGpu& gpu : fake.gpus) gpu.links = 18;
  const auto linked = inspect_gpus(fake.loader());
  EXPECT_EQ(text(linked.gpus[0], "nvlink_to"), "0000:1b:00.0 x1, a switch x17");
  EXPECT_EQ(text(linked.gpus[0], "path_to_1"), "NV17") << "the link to 1b leads elsewhere";
  EXPECT_EQ(text(linked.gpus[1], "path_to_0"), "NV18");
  EXPECT_EQ(text(linked.gpus[1], "pcie_path_to_0"), "SYS");
}

TEST(Throttle, bits_have_names) {
  EXPECT_EQ(throttle_words(0), "none");
  EXPECT_EQ(throttle_words(0x84), "sw_power_cap, hw_power_brake");
  EXPECT_EQ(throttle_words(0x1'0001), "gpu_idle, others");
}

}  // namespace
}  // namespace deepgap
