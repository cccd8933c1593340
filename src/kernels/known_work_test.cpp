#include "kernels/known_work.h"

#include "cuda/compiler.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace deepgap {
namespace {

TEST(KnownWork, CompilesForEveryChip) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "NVRTC is not here";
  for (const int architecture : {75, 80, 86, 89, 90, 100, 120}) {  // CUDA 13 compiles for none before Turing
    const cuda::Compiled compiled = cuda::compile(known_work_text(architecture), fmt::format("sm_{}", architecture));
    EXPECT_FALSE(compiled.cubin.empty()) << architecture;
    EXPECT_EQ(cuda::resources_of(compiled).spill_bytes, 0) << "what is spilled would be counted as bytes: " << architecture;
  }
  EXPECT_NE(known_work_text(70).find("m8n8k4"), std::string::npos);
}

TEST(KnownWork, IsRightWithinItsTolerance) {
  KnownCount count{.what = "bytes", .expected = 1000, .tolerance = 0.01};
  EXPECT_FALSE(count.is_right()) << "nothing was counted";
  for (const auto& [counted, right] : {std::pair{0.0, false}, std::pair{989.0, false}, std::pair{990.0, true}, std::pair{1011.0, false}}) {
    count.counted = counted;
    EXPECT_EQ(count.is_right(), right) << counted;
  }
}

}  // namespace
}  // namespace deepgap
