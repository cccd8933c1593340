// Caches of kernels and of the tuner's choices: kept between processes, made again where a file is not what it should be.
#include "engine/gpu/kernels.h"
#include "base/file.h"
#include "base/temporary_folder.h"
#include "cuda/compiler.h"
#include "engine/gpu/tuner.h"

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
  kernels.prepare(both, 2);
  EXPECT_FALSE(kernels.compiles(bad));
  EXPECT_TRUE(kernels.compiles(good));
  EXPECT_EQ(kernels.compiled(), 1);
}

TEST(TunedFile, KeepsWhatOthersWroteAndReadsOnlyWholeLines) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/tuned/h100.txt";
  TunedFile first(path), second(path);
  first.add("a", "wgmma 64", 10);
  second.add("b", "mma 32", 20);
  first.save();
  second.save();
  const TunedFile both(path);
  ASSERT_NE(both.find("a"), nullptr);
  EXPECT_EQ(*both.find("a"), "wgmma 64");
  ASSERT_NE(both.find("b"), nullptr);
  write_file_atomic(path, "a\twgmma 64\t10\nb\tmm");
  const TunedFile torn(path);
  EXPECT_NE(torn.find("a"), nullptr);
  EXPECT_EQ(torn.find("b"), nullptr);
}

}  // namespace
}  // namespace deepgap::gpu
