#include "cli/ceilings_text.h"

#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace deepgap {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Ceilings gpu() {
  Ceilings ceilings;
  ceilings.gpu.emplace().device = "NVIDIA H100 80GB HBM3";
  ceilings.compute = {{"fp16", "wgmma m64n256k16", 800e12, 780e12, Sustained{620e12, 1.4e9, 2.6e9, 699, "sw_power_cap"}}};
  ceilings.memory = {{1'000'000'000, 3e12, 2.9e12, 3e12, std::nullopt}};
  return ceilings;
}

TEST(CeilingsTable, AGpuStandsBesideItsDataSheet) {
  const std::string text = ceilings_table("cuda:0", {gpu(), true}, 0);
  EXPECT_THAT(text, HasSubstr("NVIDIA H100 80GB HBM3"));
  EXPECT_THAT(text, HasSubstr("989.50 TFLOP/s (81 %)"));
  EXPECT_THAT(text, HasSubstr("1.40 GHz, 699 W, sw_power_cap"));
  EXPECT_THAT(text, HasSubstr("3.35 TB/s (90 %)"));
  EXPECT_EQ(ceilings_table_json("cuda:0", {gpu(), true}).at("data_sheet").at("flop_per_s").at("fp16"), 989.5e12);
}

TEST(CeilingsTable, FitsTheTerminalAndNamesWhatItLeftOut) {
  const std::string text = ceilings_table("cuda:0", {gpu(), true}, 80);
  for (const std::string& line : split(text, '\n')) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_THAT(text, HasSubstr("(left out: median"));
  EXPECT_THAT(text, HasSubstr("989.50 TFLOP/s (81 %)"));
}

TEST(CeilingsTable, ACpuHasNoEmptyColumns) {
  const Ceilings cpu{2, {{"fp32", "AVX2 FMA", 184e9, 176.4e9}}, {{32'768, 107.2e9, 99.9e9, 90e9}}, 3.0};
  const std::string text = ceilings_table("cpu", {cpu, true}, 80);
  EXPECT_THAT(text, HasSubstr("2 threads"));
  EXPECT_THAT(text, Not(HasSubstr("data sheet")));
  EXPECT_THAT(text, Not(HasSubstr("left out")));
  EXPECT_THAT(ceilings_table("cuda:0", {{}, false, "there is no driver"}, 80),
              HasSubstr("no measured peaks of cuda:0: there is no driver"));
}

}  // namespace
}  // namespace deepgap
