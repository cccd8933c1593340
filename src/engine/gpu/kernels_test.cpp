// Machine code is kept between processes, and made again where a file is not what it should be.
#include "engine/gpu/kernels.h"
#include "base/file.h"
#include "base/temporary_folder.h"
#include "cuda/compiler.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace deepgap::gpu {
namespace {

Launch launch_of(const std::string& statement) {
  Launch launch;
  launch.entry = "k";
  launch.source = "extern \"C\" __global__ void k(float* x) { " + statement + " }";
  return launch;
}

TEST(Kernels, AreKeptAndMadeAgainWhereTheFileIsTorn) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  const TemporaryFolder folder;
  const Launch launch = launch_of("x[0] = 1;");
  const auto compiled = [&] {
    Kernels kernels(Chip{}, folder.path() + "/cubins");
    EXPECT_TRUE(kernels.compiles(launch));
    return kernels.compiled();
  };
  EXPECT_EQ(compiled(), 1);
  EXPECT_EQ(compiled(), 0);
  for (const auto& entry : std::filesystem::directory_iterator(folder.path() + "/cubins")) {
    const std::string whole = read_text(entry.path().string());
    write_file_atomic(entry.path().string(), whole.substr(0, whole.size() / 2));
  }
  EXPECT_EQ(compiled(), 1);
  EXPECT_EQ(compiled(), 0);
}

TEST(Kernels, ATextThatDoesNotCompileIsToldOfAndHarmsNoOther) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  Kernels kernels(Chip{}, "");
  const Launch bad = launch_of("nothing();"), good = launch_of("x[0] = 2;");
  const Launch* both[] = {&bad, &good};
  kernels.prepare(both);
  EXPECT_FALSE(kernels.compiles(bad));
  EXPECT_TRUE(kernels.compiles(good));
  EXPECT_EQ(kernels.compiled(), 1);
}

// A file for another chip, from another compiler or by another hand is not what the text compiles to.
TEST(Kernels, AFileOfSomethingElseIsMadeAgain) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  const TemporaryFolder folder;
  const Launch launch = launch_of("x[0] = 3;");
  const auto compiled = [&](const Chip& chip) {
    Kernels kernels(chip, folder.path());
    EXPECT_TRUE(kernels.compiles(launch));
    return kernels.compiled();
  };
  EXPECT_EQ(compiled(Chip{}), 1);
  EXPECT_EQ(compiled(Chip{.architecture = 80}), 1) << "another chip's";
  for (const std::string& foreign : {std::string(), std::string("text"), std::string(4096, '\0')}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) write_file_atomic(entry.path().string(), foreign);
    EXPECT_EQ(compiled(Chip{}), 1) << foreign.size() << " bytes";
    EXPECT_EQ(compiled(Chip{}), 0);
  }
}

TEST(Kernels, AFolderThatCannotBeWrittenCostsNothingButTime) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  const TemporaryFolder folder;
  write_file_atomic(folder.path() + "/file", "");
  Kernels kernels(Chip{}, folder.path() + "/file/cubins");
  EXPECT_TRUE(kernels.compiles(launch_of("x[0] = 4;")));
  EXPECT_EQ(kernels.compiled(), 1);
}

}  // namespace
}  // namespace deepgap::gpu
