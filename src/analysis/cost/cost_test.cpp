#include "analysis/cost/cost.h"

#include <gmock/gmock.h>

namespace deepgap {
namespace {

using ::testing::HasSubstr;

Identity on_device(const std::string& name) {
  Identity identity;
  identity.device = name;
  return identity;
}

Prices with(Price price) {
  Prices prices;
  prices.currency = "USD";
  prices.prices.push_back(std::move(price));
  return prices;
}

Price rented(const std::string& name, double per_hour) {
  Price price;
  price.name = name;
  price.per_hour = per_hour;
  return price;
}

Point on_gpus(int count) {
  Point point;
  point.placement.devices.clear();
  for (int i = 0; i < count; ++i) point.placement.devices.push_back({"", "cuda", i});
  return point;
}

// The six rows of the V100 and P100 table, by hand: price / 3600 / throughput * 1000.
TEST(Cost, TheSixCostsOfTheStudy) {
  struct Case {
    double per_hour, throughput, expected;
    int devices;
  };
  constexpr Case cases[] = {{4.96, 385.81, 0.00357, 1}, {4.96, 188.95, 0.00729, 1}, {4.96, 793.95, 0.00174, 1},
                            {1.46, 95.76, 0.00424, 1},  {1.46, 359.48, 0.00113, 1}, {1.46, 352.71, 0.0023, 2}};
  for (const Case& each : cases) {
    const auto costs = costs_of(with(rented("P100", each.per_hour)), on_gpus(each.devices), on_device("Tesla P100-PCIE-12GB"),
                                {{"throughput", {each.throughput, {}, {}, 1}}});
    EXPECT_NEAR(costs.at("cost_per_1000_items").value, each.expected, 0.000005) << each.throughput;
    EXPECT_FALSE(costs.at("cost_per_1000_items").low);
  }
}

TEST(Cost, IntervalsComeFromThroughputAndAccuracy) {
  const auto costs =
      costs_of(with(rented("L4", 0.72)), on_gpus(1), on_device("NVIDIA L4"),
               {{"throughput", {1000, 900, 1250, 50}}, {"accuracy_top1", {0.5, 0.4, 0.6, 100}}, {"steady_s", {10, {}, {}, 1}}});
  const Estimate& cost = costs.at("cost_per_1000_items");
  EXPECT_DOUBLE_EQ(cost.value, 0.0002);
  EXPECT_DOUBLE_EQ(*cost.low, 0.72 / 3.6 / 1250);
  EXPECT_DOUBLE_EQ(*cost.high, 0.72 / 3.6 / 900);
  EXPECT_DOUBLE_EQ(costs.at("cost_per_1000_correct").value, 0.0004);
  EXPECT_DOUBLE_EQ(*costs.at("cost_per_1000_correct").high, 0.72 / 3.6 / 900 / 0.4);
  EXPECT_DOUBLE_EQ(costs.at("cost_of_run").value, 0.002);
}

TEST(Cost, OfWhatIsBoughtElectricityComesOnTop) {
  Price price = rented("H200", 2);  // spread already
  price.bought = true;
  Prices prices = with(price);
  prices.electricity = Electricity{0.2, 1.5, 400, "", ""};
  const std::map<std::string, Estimate> known{
      {"throughput", {100, {}, {}, 1}}, {"power_w", {500, 400, 600, 9}}, {"energy_j_per_item", {5, 4, 6, 9}}};
  const auto costs = costs_of(prices, on_gpus(1), on_device("NVIDIA H200"), known);
  EXPECT_DOUBLE_EQ(costs.at("cost_per_hour").value, 2 + 0.5 * 1.5 * 0.2);
  EXPECT_DOUBLE_EQ(*costs.at("cost_per_hour").low, 2 + 0.4 * 1.5 * 0.2);
  EXPECT_NEAR(costs.at("energy_cost_per_1000_items").value, 5000 / 3.6e6 * 1.5 * 0.2, 1e-15);
  EXPECT_NEAR(*costs.at("co2_g_per_1000_items").high, 6000 / 3.6e6 * 1.5 * 400, 1e-12);
  EXPECT_THAT(cost_per_hour(prices, on_gpus(1), on_device("NVIDIA H200"), {}).missing, HasSubstr("power_w"));
  prices.prices[0].power_w = 700;
  EXPECT_DOUBLE_EQ(cost_per_hour(prices, on_gpus(2), on_device("NVIDIA H200"), {}).value->value, 2 * (2 + 0.7 * 1.5 * 0.2));
}

TEST(Cost, AMillionTokensOfAnswersAndOfPrompts) {
  const auto costs =
      costs_of(with(rented("H100", 3.6)), on_gpus(1), on_device("NVIDIA H100 80GB HBM3"),
               {{"throughput", {2, {}, {}, 9}}, {"output_tokens_per_s", {500, 400, 800, 9}}, {"input_tokens_per_s", {2000, {}, {}, 9}}});
  EXPECT_DOUBLE_EQ(costs.at("cost_per_million_output_tokens").value, 2);
  EXPECT_DOUBLE_EQ(*costs.at("cost_per_million_output_tokens").low, 1.25);
  EXPECT_DOUBLE_EQ(*costs.at("cost_per_million_output_tokens").high, 2.5);
  EXPECT_DOUBLE_EQ(costs.at("cost_per_million_input_tokens").value, 0.5);
  EXPECT_FALSE(costs_of(with(rented("H100", 3.6)), on_gpus(1), on_device("NVIDIA H100 80GB HBM3"), {{"throughput", {2, {}, {}, 9}}})
                   .contains("cost_per_million_output_tokens"));
}

TEST(Cost, APriceOfAMachineIsOfAllInIt) {
  Price price = rented("EPYC 9654", 3);
  price.of_machine = true;
  Identity identity = on_device("NVIDIA L4");
  identity.machine = "2 x AMD EPYC 9654 96-Core Processor, 192 cores";
  EXPECT_DOUBLE_EQ(cost_per_hour(with(price), on_gpus(2), identity, {}).value->value, 3);
  Price eight = rented("L4", 8);
  eight.devices = 8;
  EXPECT_DOUBLE_EQ(cost_per_hour(with(eight), on_gpus(2), identity, {}).value->value, 2);
}

TEST(Cost, WithoutAPriceItSaysWhichNameToAdd) {
  PointSummary point;
  point.point = on_gpus(1);
  point.identity.device = "NVIDIA H200";
  point.metrics["throughput"] = {{10, {}, {}, 1}, {10, 0, 1, 1}, false};
  std::vector<PointSummary> points{point};
  const auto missing = add_costs(with(rented("L4", 1)), points);
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_THAT(missing[0], HasSubstr("no price for 'NVIDIA H200': add [[price]] with device = \"H200\""));
  EXPECT_EQ(points[0].find("cost_per_hour"), nullptr);
}

TEST(Prices, NamesMatchByWords) {
  EXPECT_TRUE(names_match("V100-SXM2-32GB", "Tesla V100-SXM2-32GB"));
  EXPECT_TRUE(names_match("h100", "NVIDIA H100 80GB HBM3"));
  EXPECT_FALSE(names_match("T4", "NVIDIA T400"));
  EXPECT_FALSE(names_match("", "NVIDIA T4"));
  Prices prices = with(rented("H100", 1));
  prices.prices.push_back(rented("H100 HBM3", 2));
  EXPECT_DOUBLE_EQ(find_price(prices, on_device("NVIDIA H100 80GB HBM3"))->per_hour, 2);
  EXPECT_DOUBLE_EQ(find_price(prices, on_device("NVIDIA H100 PCIe"))->per_hour, 1);
}

}  // namespace
}  // namespace deepgap
