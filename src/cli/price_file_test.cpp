#include "cli/price_file.h"

#include "base/test_error.h"

#include <gmock/gmock.h>

namespace deepgap {
namespace {

using ::testing::HasSubstr;

constexpr std::chrono::sys_days today = std::chrono::sys_days{std::chrono::year{2026} / 11 / 23};

Identity on_device(const std::string& name) {
  Identity identity;
  identity.device = name;
  return identity;
}

constexpr const char* good = "[[price]]\ndevice = \"L4\"\nper_hour = 0.7\ncurrency = \"USD\"\nsource = \"s\"\ndate = 2026-06-01\n";

TEST(PriceFile, RentedAndBought) {
  const Prices prices = read_prices(std::string(good) +
                                        "[[price]]\ndevice = \"T4\"\nbought = 17532\nyears = 4\nutilization = \"50%\"\ncurrency = "
                                        "\"USD\"\nsource = \"s\"\ndate = \"2024\"\n[electricity]\nper_kwh = 0.2\npue = 1.4\ncurrency = "
                                        "\"USD\"\nsource = \"s\"\ndate = \"2026-11\"\n",
                                    "p.toml", today);
  EXPECT_DOUBLE_EQ(prices.prices[1].per_hour, 1);  // 4 x 8766 h x 0.5
  EXPECT_TRUE(prices.prices[1].bought);
  ASSERT_EQ(prices.warnings.size(), 1U);
  EXPECT_EQ(prices.warnings[0], "p.toml: the price of T4 is of 2024, more than a year old");
}

TEST(PriceFile, BadOnesAreOneLine) {
  const auto error = [](const std::string& text) { return std::string(failure_of([&] { read_prices(text, "p.toml", today); }).what()); };
  const auto changed = [](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_EQ(error(changed("0.7", "-0.7")), "p.toml:3: 'per_hour' is negative");
  EXPECT_EQ(error(changed("2026-06-01", "2026-11-24")), "p.toml:6: 'date' 2026-11-24 is in the future");
  EXPECT_THAT(error(std::string(good) + changed("L4\"\nper_hour = 0.7\ncurrency = \"USD", "T4\"\nper_hour = 0.7\ncurrency = \"EUR")),
              HasSubstr("in EUR beside one in USD"));
  EXPECT_THAT(error(std::string(good) + good), HasSubstr("'L4' has two prices"));
  EXPECT_THAT(error(changed("per_hour", "per_hours")), HasSubstr("did you mean 'per_hour'?"));
  EXPECT_THAT(error(changed("per_hour = 0.7\n", "")), HasSubstr("rented (per_hour) or bought"));
  EXPECT_THAT(error(changed("source = \"s\"\n", "")), HasSubstr("needs its 'source'"));
  EXPECT_THAT(error("[electricity]\nper_kwh = 1\npue = 0.9\n"), HasSubstr("'pue'"));
  EXPECT_THAT(error(""), HasSubstr("no [[price]]"));
}

TEST(PriceFile, ThePackedOneIsSaidToBeDated) {
  const Prices prices = open_prices("studies");
  ASSERT_FALSE(prices.warnings.empty());
  EXPECT_THAT(prices.warnings[0], HasSubstr("the bundled prices are of 20"));
  EXPECT_DOUBLE_EQ(find_price(prices, on_device("Tesla V100-SXM2-32GB"))->per_hour, 4.96);
}

}  // namespace
}  // namespace deepgap
