// Tests what the tuner chooses with a library among the candidates. Device and library are fakes, and each test decides which candidate is
// fast.
#include "engine/gpu/tuner.h"

#include "base/temporary_folder.h"
#include "base/test_error.h"
#include "cuda/fake_cublas_lt.h"
#include "cuda/fake_cudnn.h"
#include "cuda/fake_driver.h"
#include "engine/gpu/test_kernels.h"

#include <gmock/gmock.h>

namespace deepgap::gpu {
namespace {

using cuda::FakeCublasLt;
using cuda::FakeDriver;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class TunerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
    fake_.computes = convolutions_.computes = false;
    convolutions_.offers = cuda::dnn_not_supported;  // one library at a time
    problem_.epilogue.steps.clear();
    gpu_.on_launch = [this](const std::string& kernel, const cuda::LaunchConfig&, void**, bool in_graph) {
      if (kernel == "cublas_lt" && !in_graph) gpu_.pass_us(call_us_);
      gpu_.pass_us(kernel == "cublas_lt" ? library_us_ : own_us_);
    };
  }
  // A process of its own: its tuner knows what the file has.
  std::vector<std::string> chosen(Tuning tuning, bool libraries, const std::vector<Convolution>& problems) {
    Kernels kernels(chip_, cache().path());
    TunedFile known(folder_.path() + "/tuned.txt");
    Libraries asked;
    std::vector<std::string> names;
    for (const ConvolutionVariant& variant : Tuner(kernels, chip_, tuning, known, libraries ? &asked : nullptr).choose(problems))
      names.push_back(variant.name);
    return names;
  }
  std::string chosen(Tuning tuning, bool libraries) { return chosen(tuning, libraries, {problem_}).at(0); }
  // Kernels that were launched, of ours or of the library.
  int launches() const { return gpu_.calls("cuLaunchKernelEx"); }

  // All tests share one, so that each text is compiled once.
  static const TemporaryFolder& cache() {
    static const TemporaryFolder folder;
    return folder;
  }

  FakeDriver gpu_;
  cuda::DriverStandIn driver_{gpu_.table()};
  FakeCublasLt fake_;
  cuda::CublasLtStandIn library_{fake_.table()};
  cuda::FakeCudnn convolutions_;
  cuda::CudnnStandIn networks_{convolutions_.table()};
  TemporaryFolder folder_;
  Chip chip_{80, 108, 163 << 10};
  Convolution problem_ = test_convolution(ComputeType::f16, {.size = 7, .in = 64, .out = 64, .kernel = 1});
  long library_us_ = 10, own_us_ = 100;  // on the device
  long call_us_ = 0;                     // time of the library's call on the CPU
};

const auto of_library = StartsWith("cublaslt 13.1.0 ");

TEST_F(TunerTest, TheQuickestWinsWhosesoeverItIs) {
  EXPECT_THAT(chosen(Tuning::full, true), of_library);
  library_us_ = 1000;
  EXPECT_THAT(chosen(Tuning::full, true), Not(of_library));
}

// Calls are recorded once and replayed.
TEST_F(TunerTest, WhatACallTakesOnTheCpuDoesNotCount) {
  call_us_ = 1000;
  EXPECT_THAT(chosen(Tuning::full, true), of_library);
}

TEST_F(TunerTest, AWinnerOfTheLibraryIsFoundAgainUnmeasured) {
  const std::string winner = chosen(Tuning::quick, true);
  ASSERT_THAT(winner, of_library);
  const int before = launches();
  EXPECT_EQ(chosen(Tuning::quick, true), winner);
  EXPECT_EQ(launches(), before);
}

TEST_F(TunerTest, WithoutTheLibraryTheQuickestOfOursIsTakenUnmeasured) {
  ASSERT_THAT(chosen(Tuning::quick, true), of_library);
  const int before = launches();
  EXPECT_THAT(chosen(Tuning::quick, false), StartsWith("mma "));
  fake_.starts = 1;  // it is missing
  EXPECT_THAT(chosen(Tuning::quick, true), StartsWith("mma "));
  EXPECT_EQ(launches(), before);
  fake_.starts = 0;
  EXPECT_THAT(chosen(Tuning::quick, true), of_library) << "nothing was forgotten meanwhile";
  EXPECT_EQ(launches(), before);
}

TEST_F(TunerTest, AnotherVersionIsMeasuredAgain) {
  ASSERT_THAT(chosen(Tuning::quick, true), of_library);
  fake_.version_number = 130200;
  library_us_ = 1000;
  EXPECT_THAT(chosen(Tuning::quick, true), StartsWith("mma "));
  library_us_ = 10;
  const int before = launches();
  EXPECT_THAT(chosen(Tuning::quick, true), StartsWith("mma ")) << "that was found out";
  EXPECT_EQ(launches(), before);
}

// Known results of our own kernels, such as bundled ones, are not measured again for the library's sake.
TEST_F(TunerTest, AWinnerOfOursThatIsKnownIsTakenAndNoLibraryOpened) {
  const std::string own = chosen(Tuning::quick, false);
  const int before = launches();
  EXPECT_EQ(chosen(Tuning::quick, true), own);
  EXPECT_EQ(launches(), before);
  EXPECT_EQ(fake_.opened, 0);
  EXPECT_THAT(chosen(Tuning::full, true), of_library);
}

TEST_F(TunerTest, WithoutAWinnerOfItsOwnBf16TakesThatOfFp16AndFp16ThatOfBf16) {
  Convolution other = test_convolution(ComputeType::bf16, {.size = 7, .in = 64, .out = 64, .kernel = 1});
  other.epilogue.steps.clear();
  for (const auto& [known, asked] : {std::pair{problem_, other}, std::pair{other, problem_}}) {
    const auto rule = chosen(Tuning::off, false, {asked}).at(0);
    const auto variants = convolution_variants(known, chip_);
    const std::string quickest = variants.back().name;
    ASSERT_NE(quickest, rule);
    const TemporaryFolder apart;
    TunedFile file(apart.path() + "/tuned.txt");
    file.add(known.key(), quickest, 1);
    Kernels kernels(chip_, cache().path());
    const auto by = [&](Tuning tuning) { return Tuner(kernels, chip_, tuning, file).choose({asked}).at(0).name; };
    EXPECT_EQ(by(Tuning::off), quickest);
    const int before = launches();
    by(Tuning::quick);
    EXPECT_GT(launches(), before) << "a guess is measured";
    EXPECT_EQ(file.find(asked.key()) != nullptr, true);
  }
}

TEST_F(TunerTest, WithoutAWinnerOfItsOwnABatchTakesThatOfTheNearest) {
  const auto variants = convolution_variants(problem_, chip_);
  ASSERT_GE(variants.size(), 3u);
  const std::string far = variants[variants.size() - 2].name, near = variants.back().name;
  Kernels kernels(chip_, cache().path());
  TunedFile file("");
  const auto at = [&](int64_t batch) {
    Convolution problem = problem_;
    problem.batch = batch;
    return problem;
  };
  file.add(at(problem_.batch * 3).key(), far, 1);
  const auto by = [&](Tuning tuning) { return Tuner(kernels, chip_, tuning, file).choose({problem_}).at(0).name; };
  EXPECT_EQ(by(Tuning::off), far);
  file.add(at(problem_.batch * 2).key(), near, 1);
  EXPECT_EQ(by(Tuning::off), near);
  const int before = launches();
  by(Tuning::quick);
  EXPECT_GT(launches(), before) << "a guess is measured";
}

TEST_F(TunerTest, WithoutAWinnerOfItsOwnThatOfAnotherEpilogueIsTaken) {
  const auto variants = convolution_variants(problem_, chip_);
  ASSERT_GE(variants.size(), 3u);
  const std::string far = variants[variants.size() - 2].name, near = variants.back().name;
  Kernels kernels(chip_, cache().path());
  TunedFile file("");
  Convolution other = problem_;
  other.epilogue.steps.push_back(EpilogueStep::clamped(0, 6));
  file.add(other.key(), far, 1);
  Convolution strided = other;
  strided.stride_h = strided.stride_w = 2;
  file.add(strided.key(), variants[0].name, 1);
  const auto by = [&](Tuning tuning) { return Tuner(kernels, chip_, tuning, file).choose({problem_}).at(0).name; };
  EXPECT_EQ(by(Tuning::off), far);
  Convolution more = problem_;
  more.batch *= 2;
  file.add(more.key(), near, 1);
  EXPECT_EQ(by(Tuning::off), near) << "a batch that is near is a better guess";
}

TEST_F(TunerTest, OffAsksNoLibrary) {
  ASSERT_THAT(chosen(Tuning::quick, true), of_library);
  const int opened = fake_.opened, before = launches();
  EXPECT_THAT(chosen(Tuning::off, true), StartsWith("mma "));
  EXPECT_EQ(fake_.opened, opened);
  EXPECT_EQ(launches(), before);
}

TEST_F(TunerTest, ALibraryThatFailsDropsOut) {
  fake_.runs = cuda::lt_not_supported;
  EXPECT_THAT(chosen(Tuning::quick, true), StartsWith("mma "));
  EXPECT_GT(fake_.products, 0);
  fake_.runs = cuda::lt_out_of_memory;
  EXPECT_THAT(chosen(Tuning::full, true), StartsWith("mma "));
}

// It is asked about the device when a call failed, after as many copies to it as without the library.
TEST_F(TunerTest, ADeviceThatIsLostMeanwhileIsSaid) {
  chosen(Tuning::full, false);
  fake_.workspace_each = 0;
  fake_.runs = cuda::lt_execution_failed;
  gpu_.lose("cuCtxSynchronize", FakeDriver::illegal_address, gpu_.calls("cuCtxSynchronize"));
  EXPECT_THAT(error_of([&] { chosen(Tuning::full, true); }, ErrorKind::device_lost), HasSubstr("while a product is launched"));
}

// One key, and the library does but one of them in one go.
TEST_F(TunerTest, AProblemThatTheLibraryDoesNotDoHasTheQuickestOfOurs) {
  problem_.epilogue.steps = {EpilogueStep::clamped(0, INFINITY)};
  Convolution other = problem_;
  other.epilogue.steps = {EpilogueStep::clamped(0, 6)};
  ASSERT_EQ(problem_.key(), other.key());
  for (const Tuning tuning : {Tuning::full, Tuning::quick}) {  // found, and known
    const auto names = chosen(tuning, true, {problem_, other});
    EXPECT_THAT(names[0], of_library);
    EXPECT_THAT(names[1], StartsWith("mma "));
  }
}

}  // namespace
}  // namespace deepgap::gpu
