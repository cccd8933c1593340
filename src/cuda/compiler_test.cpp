#include "cuda/compiler.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

namespace deepgap::cuda {
namespace {

TEST(Compiler, MakesMachineCodeWithoutAGpu) {
  if (!has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  const Compiled made = compile("extern \"C\" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }", "sm_90a");
  EXPECT_EQ(made.cubin.substr(1, 3), "ELF");
  EXPECT_NE(made.log.find("registers"), std::string::npos) << made.log;
}

TEST(Compiler, TellsTheFirstError) {
  if (!has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  try {
    compile("extern \"C\" __global__ void wrong() { nothing(); }", "sm_80");
    FAIL() << "compiled";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("nothing"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace deepgap::cuda
