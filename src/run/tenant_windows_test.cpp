#include "run/tenant_windows.h"

#include <gmock/gmock.h>

namespace deepgap {
namespace {

Record tenant(Nanoseconds begin, Nanoseconds end) {
  Record record;
  record.verdict = Verdict::valid;
  record.windows = {{"warm_up", 0, begin}, {"steady", begin, end}};
  return record;
}

double share(const Record& record) { return std::get<double>(record.facts.at("tenant.window_share")); }

TEST(TenantWindows, the_share_is_that_of_the_window_in_which_all_ran) {
  std::vector<Record> tenants{tenant(100, 1100), tenant(150, 1050)};
  note_common_window(tenants);
  EXPECT_DOUBLE_EQ(share(tenants[0]), 0.9);
  EXPECT_DOUBLE_EQ(share(tenants[1]), 1);
  EXPECT_EQ(tenants[0].verdict, Verdict::valid);
}

TEST(TenantWindows, who_ran_partly_alone_is_unstable) {
  std::vector<Record> tenants{tenant(0, 1000), tenant(0, 500)};
  note_common_window(tenants);
  EXPECT_EQ(tenants[0].verdict, Verdict::unstable);
  EXPECT_THAT(tenants[0].reason, testing::HasSubstr("only 50 % of its window"));
  EXPECT_EQ(tenants[1].verdict, Verdict::valid);
}

TEST(TenantWindows, a_worse_verdict_stays) {
  std::vector<Record> tenants{tenant(0, 1000), tenant(2000, 2500)};
  tenants[1].verdict = Verdict::invalid;
  note_common_window(tenants);
  EXPECT_DOUBLE_EQ(share(tenants[0]), 0);
  EXPECT_EQ(tenants[1].verdict, Verdict::invalid);
  EXPECT_EQ(tenants[1].reason, "");
}

}  // namespace
}  // namespace deepgap
