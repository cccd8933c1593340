#include "telemetry/gpu_copies.h"

#include "base/file.h"
#include "base/temporary_folder.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace deepgap {
namespace {

const GpuCopies of_first{50e9, 51e9, 30e9, 31e9, 2, {{"GPU-b", 380e9}}};

double number(const Facts& facts, const std::string& key) { return std::get<double>(facts.at(key)); }

TEST(GpuCopies, stand_in_an_environment_under_the_numbers_of_this_process) {
  const TemporaryFolder cache;
  keep_gpu_copies(cache.path(), "GPU-a", of_first);
  Facts environment{{"gpu.cuda3.uuid", std::string("GPU-a")}, {"gpu.cuda1.uuid", std::string("GPU-b")}, {"gpu.driver", std::string("580")}};
  add_kept_copies(cache.path(), environment);
  EXPECT_EQ(number(environment, "gpu.cuda3.h2d_bytes_per_s"), 50e9);
  EXPECT_EQ(number(environment, "gpu.cuda3.d2h_together_bytes_per_s"), 31e9);
  EXPECT_EQ(std::get<int64_t>(environment.at("gpu.cuda3.gpus_together")), 2);
  EXPECT_EQ(number(environment, "gpu.cuda3.copy_to_1_bytes_per_s"), 380e9);
  EXPECT_FALSE(environment.contains("gpu.cuda1.h2d_bytes_per_s")) << "GPU-b was not measured";
}

TEST(GpuCopies, of_a_single_gpu_have_no_rate_beside_others) {
  const TemporaryFolder cache;
  keep_gpu_copies(cache.path(), "GPU-a", {50e9, 51e9, 0, 0, 1, {}});
  const auto facts = kept_copy_facts(cache.path(), {{0, "GPU-a"}});
  EXPECT_EQ(number(facts.at(0), "d2h_bytes_per_s"), 51e9);
  EXPECT_EQ(facts.at(0).size(), 2U);
}

TEST(GpuCopies, a_damaged_file_is_as_none) {
  const TemporaryFolder cache;
  keep_gpu_copies(cache.path(), "GPU-a", of_first);
  for (const auto& file : std::filesystem::recursive_directory_iterator(cache.path()))
    if (file.is_regular_file()) write_file_atomic(file.path().string(), "{\"h2d\":");
  EXPECT_FALSE(kept_gpu_copies(cache.path(), "GPU-a"));
  EXPECT_TRUE(kept_copy_facts(cache.path(), {{0, "GPU-a"}}).empty());
  EXPECT_FALSE(kept_gpu_copies("", "GPU-a")) << "without a cache nothing is kept";
}

}  // namespace
}  // namespace deepgap
