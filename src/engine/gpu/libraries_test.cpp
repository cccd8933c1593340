// Products by a library that is played (cuda/fake_cublas_lt.h), which computes what it is described: what is described is right.
#include "engine/gpu/libraries.h"

#include "cuda/fake_cublas_lt.h"
#include "cuda/fake_cudnn.h"
#include "cuda/fake_driver.h"
#include "engine/gpu/library_epilogue.h"
#include "engine/gpu/library_products.h"
#include "engine/gpu/played_problem.h"
#include "engine/gpu/test_kernels.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <bit>

namespace deepgap::gpu {
namespace {

using cuda::FakeCublasLt;
using cuda::FakeDriver;
using ::testing::ElementsAre;
using ::testing::StartsWith;
using Kind = EpilogueStep::Kind;

// 5 x 2 pixels of 12 channels to 20, each in rows of the next multiple of 16.
Convolution product(ComputeType compute, std::vector<EpilogueStep> steps) {
  Convolution problem = test_convolution(compute, {.size = 1, .in = 12, .out = 20, .kernel = 1});
  problem.batch = 10;
  problem.in_pitch = 16;
  problem.out_pitch = 32;
  problem.epilogue.steps = std::move(steps);
  return problem;
}

std::vector<EpilogueStep> residual_and_relu() { return {EpilogueStep::of(Kind::add), EpilogueStep::clamped(0, INFINITY)}; }

class LibrariesTest : public ::testing::Test {
 protected:
  LibrariesTest() { convolutions_.starts = 1; }  // one library at a time
  std::vector<ConvolutionVariant> variants(const Convolution& problem, const Chip& chip = {}) {
    return Libraries().variants(problem, chip);
  }

  FakeDriver gpu_;
  cuda::DriverStandIn driver_{gpu_.table()};
  FakeCublasLt fake_;
  cuda::CublasLtStandIn library_{fake_.table()};
  cuda::FakeCudnn convolutions_;
  cuda::CudnnStandIn networks_{convolutions_.table()};
};

TEST_F(LibrariesTest, DoesProductsWithBiasResidualAndRelu) {
  for (const ComputeType compute : {ComputeType::f32, ComputeType::tf32, ComputeType::f16, ComputeType::bf16})
    for (const auto& steps : std::vector<std::vector<EpilogueStep>>{
             {}, {EpilogueStep::clamped(0, INFINITY)}, {EpilogueStep::of(Kind::add)}, residual_and_relu()})
      for (const Element target : {stored_as(compute), Element::f32}) {
        Convolution p = product(compute, steps);
        p.epilogue.target = p.epilogue.residual = target;
        const auto offered = variants(p);
        ASSERT_EQ(offered.size(), 3u) << p.key();
        ASSERT_EQ(offered[1].launches.size(), 1u) << p.key();
        const Played played(p);
        const auto result =
            first_launch(p, offered[1], played, role_target, static_cast<size_t>(pixels_of(p) * p.out_pitch) * byte_size(target));
        for (size_t pixel = 0; pixel < static_cast<size_t>(pixels_of(p)); ++pixel)
          for (size_t channel = 0; channel < static_cast<size_t>(p.out_pitch); ++channel) {
            const float found = number_at(target, result.data(), pixel * static_cast<size_t>(p.out_pitch) + channel);
            ASSERT_TRUE(std::isfinite(found)) << p.key() << " channel " << channel;
            if (channel >= played.bias.size()) continue;
            float right = played.sum(p, pixel, channel) + played.bias[channel];
            if (p.epilogue.has_residual()) right += played.residual[pixel * played.bias.size() + channel];
            if (!steps.empty() && steps.back().kind == Kind::clamp) right = std::max(right, 0.0F);
            ASSERT_EQ(found, right) << p.key() << " pixel " << pixel << " channel " << channel;
          }
      }
}

// The library makes sums, and a kernel of ours, which no played device runs, ends them.
TEST_F(LibrariesTest, MakesSumsWhereItsEpilogueIsNotOurs) {
  for (const ComputeType compute :
       {ComputeType::f32, ComputeType::tf32, ComputeType::f16, ComputeType::bf16, ComputeType::i8, ComputeType::f8}) {
    Convolution p = product(compute, {EpilogueStep::of(Kind::activation)});
    p.epilogue.steps[0].text = "tanhf(v)";
    const auto offered = variants(p);
    ASSERT_EQ(offered.size(), 3u) << p.key();
    const ConvolutionVariant& variant = offered[2];
    ASSERT_EQ(variant.launches.size(), 2u) << p.key();
    EXPECT_EQ(variant.pack_scale_bias, nullptr);
    const bool in_place = byte_size(p.epilogue.target) == 4;
    const auto count = static_cast<size_t>(pixels_of(p) * p.out_pitch);
    EXPECT_EQ(variant.workspace_bytes, (in_place ? 0 : count * 4) + 2 * fake_.workspace_each) << p.key();
    const Played played(p);
    const auto sums = first_launch(p, variant, played, in_place ? role_target : role_workspace, count * 4);
    for (size_t pixel = 0; pixel < static_cast<size_t>(pixels_of(p)); ++pixel)
      for (size_t channel = 0; channel < played.bias.size(); ++channel) {
        float found = number_at(Element::f32, sums.data(), pixel * static_cast<size_t>(p.out_pitch) + channel);
        if (compute == ComputeType::i8) found = static_cast<float>(std::bit_cast<int32_t>(found));
        ASSERT_EQ(found, played.sum(p, pixel, channel)) << p.key();
      }
  }
}

TEST_F(LibrariesTest, WhichEpilogueIsTheLibrarysOwn) {
  const auto is_whole = [](Convolution p) { return library_product(p)->is_whole; };
  const EpilogueStep add = EpilogueStep::of(Kind::add), relu = EpilogueStep::clamped(0, INFINITY), relu6 = EpilogueStep::clamped(0, 6);
  EXPECT_TRUE(is_whole(product(ComputeType::f16, {add, relu})));
  EXPECT_FALSE(is_whole(product(ComputeType::f16, {relu, add})));
  EXPECT_FALSE(is_whole(product(ComputeType::f16, {relu6})));
  EXPECT_FALSE(is_whole(product(ComputeType::f16, {EpilogueStep::of(Kind::multiply)})));
  EXPECT_FALSE(is_whole(product(ComputeType::i8, {})));
  EXPECT_FALSE(is_whole(product(ComputeType::f8, {})));
  Convolution other = product(ComputeType::f16, {add});
  other.epilogue.residual = Element::f32;
  EXPECT_FALSE(is_whole(other)) << "the residual's type is not the result's";
  other = product(ComputeType::f16, {});
  other.epilogue.target = Element::e4m3;
  EXPECT_FALSE(is_whole(other));
}

TEST_F(LibrariesTest, SumsAreOfThePrecisionThatIsPromised) {
  const auto sums = [](ComputeType compute) { return library_product(product(compute, {}))->problem.sums; };
  EXPECT_EQ(sums(ComputeType::f32), cuda::lt_sums_f32) << "true float32";
  EXPECT_EQ(sums(ComputeType::f16), cuda::lt_sums_f32);
  EXPECT_EQ(sums(ComputeType::bf16), cuda::lt_sums_f32);
  EXPECT_EQ(sums(ComputeType::f8), cuda::lt_sums_f32);
  EXPECT_EQ(sums(ComputeType::tf32), cuda::lt_sums_tf32);
  EXPECT_EQ(sums(ComputeType::i8), cuda::lt_sums_i32);
}

TEST_F(LibrariesTest, OffersNothingForWhatIsNoProduct) {
  for (const TestShape& shape : {TestShape{.kernel = 3}, TestShape{.kernel = 1, .stride = 2}, TestShape{.kernel = 1, .groups = 2}})
    EXPECT_TRUE(variants(test_convolution(ComputeType::f16, shape)).empty());
  Convolution p = product(ComputeType::i8, {});
  p.source = Element::u8;
  EXPECT_TRUE(variants(p).empty()) << "the library multiplies signed integers";
  EXPECT_EQ(fake_.asked, 0);
  p = product(ComputeType::f16, {EpilogueStep::clamped(0, 6)});
  p.batch = 1 << 21;
  EXPECT_TRUE(variants(p).empty()) << "too many sums for memory";
  EXPECT_EQ(fake_.opened, fake_.closed);
}

TEST_F(LibrariesTest, NamesTellTheVersion) {
  const auto names = [&](const Convolution& p) {
    std::vector<std::string> all;
    for (const ConvolutionVariant& variant : variants(p)) all.push_back(variant.name);
    return all;
  };
  fake_.algorithms = 2;
  EXPECT_THAT(names(product(ComputeType::f16, {})), ElementsAre("cublaslt 13.1.0 0", "cublaslt 13.1.0 1"));
  fake_.version_number = 120804;
  EXPECT_THAT(names(product(ComputeType::i8, {})), ElementsAre("cublaslt 12.8.4 0 ended", "cublaslt 12.8.4 1 ended"));
  EXPECT_THAT(library_versions(), StartsWith("cuBLASLt 12.8.4, "));
}

TEST_F(LibrariesTest, WhereItDoesNotStartNothingIsOfferedAndItIsAskedOnce) {
  fake_.starts = 1;
  Libraries libraries;
  EXPECT_TRUE(libraries.variants(product(ComputeType::f16, {}), {}).empty());
  fake_.starts = 0;
  EXPECT_TRUE(libraries.variants(product(ComputeType::f16, {}), {}).empty());
  EXPECT_EQ(fake_.opened, 0);
}

TEST_F(LibrariesTest, ACallThatFailsIsAnErrorAsALaunchIs) {
  const Convolution p = product(ComputeType::f16, {});
  const auto offered = variants(p);
  const Played played(p);
  fake_.runs = cuda::lt_execution_failed;
  EXPECT_THROW(first_launch(p, offered.at(0), played, role_target, 1), Error);
  EXPECT_EQ(fake_.closed, 0) << "variants outlive who made them";
}

// If cuDNN starts, its variants come after cuBLASLt's.
TEST_F(LibrariesTest, BothOfferWhatTheyDo) {
  convolutions_.starts = 0;
  std::vector<std::string> names;
  for (const ConvolutionVariant& variant : variants(product(ComputeType::f16, {EpilogueStep::clamped(0, INFINITY)})))
    names.push_back(variant.name.substr(0, variant.name.find(' ')));
  EXPECT_THAT(names, ElementsAre("cublaslt", "cublaslt", "cublaslt", "cudnn", "cudnn"));
  EXPECT_EQ(library_versions(), "cuBLASLt 13.1.0, cuDNN 9.19.0");
  convolutions_.offers = cuda::dnn_bad_parameter;
  EXPECT_EQ(variants(product(ComputeType::f16, {})).size(), 3u) << "one that takes no description offers nothing";
}

TEST(EndSums, CompilesForEveryChipAndPrecision) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  for (const Chip& chip : test_chips())
    for (const ComputeType compute :
         {ComputeType::f32, ComputeType::tf32, ComputeType::f16, ComputeType::bf16, ComputeType::i8, ComputeType::f8}) {
      if (compute == ComputeType::f8 && chip.architecture < 89) continue;
      Convolution p = product(compute, residual_and_relu());
      for (const Element target : {p.epilogue.target, Element::f32}) {
        p.epilogue.target = target;
        for (const int64_t pitch : {32, 24, 20}) {
          p.out_pitch = pitch;
          ConvolutionVariant variant;
          variant.name = p.key();
          variant.launches.push_back(end_sums_launch(p, chip, role_workspace));
          expect_compiled({variant}, chip);
        }
      }
    }
}

}  // namespace
}  // namespace deepgap::gpu
