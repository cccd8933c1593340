#include "cli/gpu_links_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace deepgap {
namespace {

using nlohmann::json;

const json cpu{{"device", "cpu"}};

json gpu(int number, json facts) { return {{"device", "cuda:" + std::to_string(number)}, {"gpu", std::move(facts)}}; }

TEST(GpuLinksText, has_a_path_for_each_pair_and_what_it_means) {
  const json rows{cpu, gpu(0, {{"path_to_1", "NV18"}, {"numa_node", 0}, {"near_cpus", "0-31"}}),
                  gpu(1, {{"path_to_0", "NV18"}, {"numa_node", "not available: /sys does not say"}})};
  EXPECT_EQ(gpu_links_text(rows),
            "\n"
            "paths   cuda:0  cuda:1  NUMA node  near CPUs\n"
            "cuda:0  -       NV18    0          0-31\n"
            "cuda:1  NV18    -       ?          ?\n"
            "NV18: 18 NVLinks\n");
}

TEST(GpuLinksText, has_the_rates_that_are_known) {
  const json rows{cpu, gpu(0, {{"h2d_bytes_per_s", 53.6e9}, {"d2h_bytes_per_s", 53.2e9}})};
  EXPECT_EQ(gpu_links_text(rows),
            "\n"
            "GB/s     h2d   d2h\n"
            "cuda:0  53.6  53.2\n"
            "Copies of page-locked memory, measured by deepgap devices --copies.\n");
}

TEST(GpuLinksText, of_several_gpus_are_alone_together_and_in_pairs) {
  const auto rates = [](int other) {
    return json{{"path_to_" + std::to_string(other), "PIX"},
                {"h2d_bytes_per_s", 50e9},
                {"d2h_bytes_per_s", 50e9},
                {"h2d_together_bytes_per_s", 25e9},
                {"d2h_together_bytes_per_s", 26e9},
                {"gpus_together", 2},
                {"copy_to_" + std::to_string(other) + "_bytes_per_s", 40e9}};
  };
  const std::string text = gpu_links_text({gpu(0, rates(1)), gpu(1, rates(0))});
  EXPECT_THAT(text, ::testing::HasSubstr("PIX: a PCIe switch\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("GB/s     h2d   d2h  h2d, 2 GPUs  d2h, 2 GPUs  to cuda:0  to cuda:1\n"
                                         "cuda:0  50.0  50.0         25.0         26.0          -       40.0\n"));
}

TEST(GpuLinksText, of_a_machine_without_gpus_is_empty) { EXPECT_EQ(gpu_links_text({cpu, {{"device", "cuda"}, {"available", false}}}), ""); }

}  // namespace
}  // namespace deepgap
