// near_gelu as the kernels have it, its text compiled for the host.
#include "host_compiler.h"

#include "engine/gpu/kernel_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace deepgap::gpu {
namespace {

constexpr const char* words = R"(
#include <cmath>
using namespace std;
#define __device__
#define __forceinline__ inline
static float largest(float a, float b) { return a != a || b != b ? a + b : a < b ? b : a; }
)";

TEST(NearGelu, IsNearTheGelu) {
  std::string text(kernel_prelude());
  const size_t begin = text.find("__device__ __forceinline__ float near_gelu(");
  ASSERT_NE(begin, std::string::npos);
  text = text.substr(begin, text.find("\n}\n", begin) + 3 - begin);
  const size_t power = text.find("asm(");
  ASSERT_NE(power, std::string::npos);
  text.replace(power, text.find(";\n", power) - power, "share = exp2f(p)");
  const HostLibrary library({words, {}}, text + "extern \"C\" float run(float v) { return near_gelu(v); }\n");
  const auto gelu = library.function<float (*)(float)>("run");
  double worst = 0;
  for (int i = -120'000; i <= 120'000; ++i) {
    const float v = static_cast<float>(i) / 10'000;
    worst = std::max(worst, std::fabs(gelu(v) - 0.5 * v * std::erfc(-v / std::sqrt(2.0))));
  }
  EXPECT_LT(worst, 2e-6);
  constexpr float infinite = std::numeric_limits<float>::infinity();
  EXPECT_EQ(gelu(infinite), infinite);
  EXPECT_NEAR(gelu(-infinite), 0, 1e-20);
  EXPECT_EQ(gelu(1000), 1000);
  EXPECT_TRUE(std::isnan(gelu(std::nanf(""))));
}

}  // namespace
}  // namespace deepgap::gpu
