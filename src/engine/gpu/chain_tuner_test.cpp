// Tests the tuner's choices for chains, on a fake device.
#include "engine/gpu/tuner.h"

#include "base/temporary_folder.h"
#include "cuda/fake_driver.h"
#include "engine/gpu/test_kernels.h"

#include <gtest/gtest.h>

namespace deepgap::gpu {
namespace {

class ChainTunerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
    gpu_.on_launch = [this](const std::string& kernel, const cuda::LaunchConfig&, void**, bool) {
      gpu_.pass_us(kernel == "chain" ? chain_us_ : 100);
    };
  }
  static Chain chain(int64_t batch) {
    Convolution first = test_convolution(ComputeType::i8, {.size = 7, .in = 64, .out = 128, .kernel = 1});
    Convolution second = test_convolution(ComputeType::i8, {.size = 7, .in = 128, .out = 64, .kernel = 1});
    second.epilogue.steps.clear();
    first.batch = second.batch = batch;
    return {.links = {{first}, {second}}, .branch = {}};
  }
  // Acts as a process of its own: its tuner knows what the file has.
  template <typename Asked>
  auto with_tuner(Tuning tuning, const Asked& asked) {
    Kernels kernels(chip_, cache().path());
    TunedFile known(folder_.path() + "/tuned.txt");
    Tuner tuner(kernels, chip_, tuning, known);
    return asked(tuner);
  }
  Tuner::KnownChain known(Tuning tuning, int64_t batch = 2) {
    return with_tuner(tuning, [&](Tuner& tuner) { return tuner.known(chain(batch)); });
  }
  std::string measured(int64_t batch = 2) { return measured(chain(batch)); }
  std::string measured(const Chain& asked) {
    return with_tuner(Tuning::quick, [&](Tuner& tuner) {
      std::vector<ConvolutionVariant> parts;
      for (const Convolution* part : asked.problems()) parts.push_back(convolution_variants(*part, chip_).at(0));
      const auto found = tuner.measured(asked, parts);
      tuner.remember(asked, found.has_value());
      return found ? found->variant.name : std::string();
    });
  }

  static const TemporaryFolder& cache() {
    static const TemporaryFolder folder;
    return folder;
  }
  cuda::FakeDriver gpu_;
  cuda::DriverStandIn driver_{gpu_.table()};
  TemporaryFolder folder_;
  Chip chip_{90, 132, 227 << 10};
  long chain_us_ = 10;
};

TEST_F(ChainTunerTest, NothingIsKnownOfOneThatWasNotMeasured) {
  EXPECT_FALSE(known(Tuning::quick).is_known);
  EXPECT_FALSE(known(Tuning::full).is_known);
  const auto off = known(Tuning::off);
  EXPECT_TRUE(off.is_known) << "its parts are taken";
  EXPECT_FALSE(off.kernel);
}

TEST_F(ChainTunerTest, AQuickerKernelIsFoundAgainUnmeasured) {
  const std::string winner = measured();
  ASSERT_NE(winner, "");
  const int before = gpu_.calls("cuLaunchKernelEx");
  for (const Tuning tuning : {Tuning::quick, Tuning::off}) {
    const auto found = known(tuning);
    ASSERT_TRUE(found.is_known && found.kernel);
    EXPECT_EQ(found.kernel->name, winner);
  }
  EXPECT_FALSE(known(Tuning::full).is_known) << "all is measured anew";
  EXPECT_EQ(gpu_.calls("cuLaunchKernelEx"), before);
}

TEST_F(ChainTunerTest, WithoutTuningTheNearestBatchsIsTaken) {
  const std::string winner = measured(2);
  ASSERT_TRUE(known(Tuning::off, 4).kernel);
  EXPECT_EQ(known(Tuning::off, 4).kernel->name, winner);
  EXPECT_FALSE(known(Tuning::off, 64).kernel);
  EXPECT_FALSE(known(Tuning::quick, 4).is_known);
}

TEST_F(ChainTunerTest, WithoutTuningBf16TakesThatOfFp16) {
  const auto of = [](ComputeType compute) {
    Chain pair = chain(2);
    for (Chain::Link& link : pair.links) {
      link.problem.compute = compute;
      link.problem.source = link.problem.epilogue.target = link.problem.epilogue.residual = stored_as(compute);
    }
    return pair;
  };
  const std::string winner = measured(of(ComputeType::f16));
  ASSERT_NE(winner, "");
  const auto found = with_tuner(Tuning::off, [&](Tuner& tuner) { return tuner.known(of(ComputeType::bf16)); });
  ASSERT_TRUE(found.kernel);
  EXPECT_EQ(found.kernel->name, winner);
}

TEST_F(ChainTunerTest, OfASlowerOneThePartsAreRemembered) {
  chain_us_ = 1000;
  EXPECT_EQ(measured(), "");
  for (const Tuning tuning : {Tuning::quick, Tuning::off}) {
    EXPECT_TRUE(known(tuning).is_known);
    EXPECT_FALSE(known(tuning).kernel);
  }
}

}  // namespace
}  // namespace deepgap::gpu
