// The measuring on a driver that is played: its events are a microsecond apart, and copies take no time of theirs.
#include "ceilings/copy_rates.h"

#include "cuda/fake_driver.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

namespace deepgap {
namespace {

using cuda::DriverStandIn;
using cuda::FakeDriver;

constexpr size_t bytes = 1 << 20;

std::vector<CopyEnd> ends(int count) {
  std::vector<CopyEnd> all;
  for (int i = 0; i < count; ++i) all.push_back({i, {}});
  return all;
}

TEST(CopyRates, of_several_gpus_are_alone_together_and_in_pairs) {
  FakeDriver fake;
  fake.devices = 3;
  const DriverStandIn driver(fake.table());
  const auto rates = measure_copy_rates(ends(3), bytes);
  ASSERT_EQ(rates.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    // Eight copies between two events that are a microsecond apart.
    EXPECT_NEAR(rates[i].h2d, 8.0 * bytes / 1e-6, 1e10);
    EXPECT_NEAR(rates[i].h2d_together * 3, rates[i].h2d, 1e10) << "the others' events lie between";
    EXPECT_EQ(rates[i].to[i], 0);
    EXPECT_GT(rates[i].to[(i + 1) % 3], 0);
  }
  EXPECT_EQ(fake.calls("cuMemcpyPeerAsync"), 6 * 5 * 8) << "each pair in both directions";
  EXPECT_EQ(fake.calls("cuCtxEnablePeerAccess"), 6);
  EXPECT_EQ(fake.taken_bytes(), 0U);
}

TEST(CopyRates, of_one_gpu_have_no_others) {
  FakeDriver fake;
  const DriverStandIn driver(fake.table());
  const auto rates = measure_copy_rates(ends(1), bytes);
  ASSERT_EQ(rates.size(), 1U);
  EXPECT_GT(rates[0].d2h, 0);
  EXPECT_EQ(rates[0].d2h_together, 0);
  EXPECT_EQ(fake.calls("cuMemcpyPeerAsync"), 0);
}

TEST(CopyRates, peer_access_that_is_enabled_already_is_no_error) {
  FakeDriver fake;
  fake.devices = 2;
  fake.fail("cuCtxEnablePeerAccess", 704);
  const DriverStandIn driver(fake.table());
  EXPECT_GT(measure_copy_rates(ends(2), bytes)[0].to[1], 0);
}

TEST(CopyRates, a_gpu_that_is_full_or_absent_says_so) {
  FakeDriver fake;
  const DriverStandIn driver(fake.table());
  EXPECT_THROW(measure_copy_rates(ends(2), bytes), Error) << "there is no cuda:1";
  fake.others_bytes = fake.total_bytes;
  try {
    measure_copy_rates(ends(1), bytes);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::out_of_memory);
  }
}

}  // namespace
}  // namespace deepgap
