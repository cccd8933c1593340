#include "report/gpu_topology.h"

#include "base/file.h"
#include "report/example_results.h"
#include "report/occurrences.h"
#include "report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstdlib>

namespace deepgap {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Four GPUs, two below each switch, a switch for each memory node; 0 and 2 share the first one.
Facts four_gpus(bool nvlinks) {
  Facts facts;
  for (int from = 0; from < 4; ++from) {
    const std::string gpu = fmt::format("gpu.cuda{}.", from);
    facts[gpu + "name"] = std::string("NVIDIA H100 <80GB>");
    facts[gpu + "numa_node"] = int64_t{from % 2};
    facts[gpu + "near_cpus"] = std::string(from % 2 == 0 ? "0-31" : "32-63");
    facts[gpu + "pcie_generation_max"] = int64_t{5};
    facts[gpu + "pcie_width_max"] = int64_t{16};
    for (int to = 0; to < 4; ++to) {
      if (to == from) continue;
      const std::string pcie = to % 2 == from % 2 ? "PIX" : "SYS";
      facts[fmt::format("{}pcie_path_to_{}", gpu, to)] = pcie;
      facts[fmt::format("{}path_to_{}", gpu, to)] = nvlinks ? std::string("NV18") : pcie;
    }
  }
  return facts;
}

Facts with_rates(Facts facts) {
  for (int from = 0; from < 4; ++from) {
    const std::string gpu = fmt::format("gpu.cuda{}.", from);
    facts[gpu + "gpus_together"] = int64_t{4};
    facts[gpu + "h2d_bytes_per_s"] = 53.6e9 + from * 1e9;
    facts[gpu + "d2h_bytes_per_s"] = 53e9;
    facts[gpu + "h2d_together_bytes_per_s"] = 36.5e9;
    facts[gpu + "d2h_together_bytes_per_s"] = 35e9;
    for (int to = 0; to < 4; ++to)
      if (to != from) facts[fmt::format("{}copy_to_{}_bytes_per_s", gpu, to)] = 382e9;
  }
  return facts;
}

Results results_on(const std::vector<Facts>& machines) {
  ResultsCollector collector;
  for (const Facts& machine : machines) {
    Record record = example_study().front();
    record.environment = machine;
    collector.add(record);
  }
  return collector.results();
}

std::vector<int> numbers(const std::vector<PlacedGpu>& gpus) {
  std::vector<int> all;
  for (const PlacedGpu& gpu : gpus) all.push_back(gpu.number);
  return all;
}

TEST(GpuTopology, brings_gpus_of_a_switch_together) {
  const auto topology = gpu_topology_of(results_on({four_gpus(true)}).environment);
  ASSERT_TRUE(topology);
  EXPECT_THAT(numbers(topology->gpus), ElementsAre(0, 2, 1, 3));
  EXPECT_EQ(topology->switches().size(), 2U);
  EXPECT_EQ(topology->gpus[0].link(), "PCIe 5 x16");
  EXPECT_EQ(topology->gpus[0].paths.at(1), "NV18");
  EXPECT_EQ(topology->gpus[0].pcie_paths.at(1), "SYS");
  EXPECT_FALSE(topology->gpus[0].h2d);
}

TEST(GpuTopology, needs_several_gpus_of_one_machine) {
  Facts one = four_gpus(false);
  std::erase_if(one, [](const auto& fact) { return !fact.first.starts_with("gpu.cuda0."); });
  EXPECT_FALSE(gpu_topology_of(results_on({one}).environment));
  Facts other = four_gpus(false);
  for (int gpu = 0; gpu < 4; ++gpu) other[fmt::format("gpu.cuda{}.name", gpu)] = std::string("NVIDIA T4");
  EXPECT_FALSE(gpu_topology_of(results_on({four_gpus(false), other}).environment)) << "which of the two is cuda:0?";
}

TEST(GpuTopology, rates_of_several_measurements_are_a_range) {
  Facts later = with_rates(four_gpus(true));
  later["gpu.cuda0.h2d_bytes_per_s"] = 52e9;
  const auto topology = gpu_topology_of(results_on({with_rates(four_gpus(true)), later}).environment);
  ASSERT_TRUE(topology);
  EXPECT_EQ(rate_words(*topology->gpus[0].h2d), "52.0 to 53.6");
  EXPECT_EQ(rate_words(*topology->gpus[0].d2h), "53.0");
}

TEST(GpuTopologySection, draws_switches_links_and_rates) {
  const std::string page = html_report(results_on({with_rates(four_gpus(true))}), {});
  if (const char* folder = std::getenv("DEEPGAP_PAGES")) write_file_atomic(fmt::format("{}/topology.html", folder), page);
  EXPECT_EQ(occurrences(page, ">PCIe switch<"), 2U);
  EXPECT_EQ(occurrences(page, ">NUMA node "), 2U);
  EXPECT_THAT(page, HasSubstr("NVLink between all"));
  EXPECT_THAT(page, HasSubstr("h2d 53.6"));
  EXPECT_THAT(page, HasSubstr("<small>382 GB/s</small>"));
  EXPECT_THAT(page, HasSubstr("h2d, 4 GPUs"));
  EXPECT_THAT(page, HasSubstr("<a href=\"#topology\">"));
  EXPECT_THAT(page, Not(HasSubstr("H100 <80GB>"))) << "escaped";
}

TEST(GpuTopologySection, without_rates_says_how_to_measure_them) {
  const std::string page = html_report(results_on({four_gpus(false)}), {});
  EXPECT_THAT(page, HasSubstr("No copy rates are known"));
  EXPECT_THAT(page, Not(HasSubstr("class=\"nvlink\"")));
  EXPECT_THAT(html_report(results_on({{}}), {}), Not(HasSubstr("id=\"topology\"")));
}

TEST(GpuTopologySection, more_gpus_than_fit_are_in_the_tables_alone) {
  GpuTopology topology;
  for (int i = 0; i < 9; ++i) topology.gpus.emplace_back().number = i;
  EXPECT_EQ(gpu_topology_svg(topology), "");
}

}  // namespace
}  // namespace deepgap
