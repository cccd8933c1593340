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

TEST(Compiler, ReadsWhatKernelsTake) {
  const KernelResources found = resources_of(
      {{},
       "ptxas info    : Function properties for a\n    24 bytes stack frame, 16 bytes spill stores, 20 bytes spill loads\nptxas info    "
       ": Used 32 registers, used 0 barriers\nptxas info    : Used 168 registers\n    0 bytes stack frame, 0 bytes spill stores, "
       "0 bytes spill loads"});
  EXPECT_EQ(found.registers, 168);
  EXPECT_EQ(found.stack_bytes, 24);
  EXPECT_EQ(found.spill_bytes, 20);
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
