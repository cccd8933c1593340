// Convolutions by a library that is played (cuda/fake_cudnn.h), which computes what it is described: what is described is right.
#include "engine/gpu/library_convolutions.h"

#include "cuda/fake_cudnn.h"
#include "cuda/fake_driver.h"
#include "engine/gpu/played_problem.h"
#include "engine/gpu/test_kernels.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>

namespace deepgap::gpu {
namespace {

using ::testing::ElementsAre;

std::vector<std::vector<EpilogueStep>> whole_epilogues() {
  const EpilogueStep add = EpilogueStep::of(EpilogueStep::Kind::add), relu = EpilogueStep::clamped(0, INFINITY);
  return {{}, {relu}, {add}, {add, relu}};
}

class LibraryConvolutions : public ::testing::Test {
 protected:
  std::vector<ConvolutionVariant> variants(const Convolution& problem) {
    return cudnn_variants(problem, {}, std::make_shared<const cuda::DnnLibrary>());
  }
  std::vector<std::string> names(const Convolution& problem) {
    std::vector<std::string> all;
    for (const ConvolutionVariant& variant : variants(problem)) all.push_back(variant.name);
    return all;
  }
  // Every variant's first launch leaves what is right; padding is finite.
  void expect_right(const Convolution& p, bool is_whole) {
    const auto offered = variants(p);
    ASSERT_FALSE(offered.empty()) << p.key();
    const Played played(p);
    const Element written = is_whole ? p.epilogue.target : Element::f32;
    const size_t pitch = static_cast<size_t>(p.out_pitch), bytes = static_cast<size_t>(pixels_of(p)) * pitch * byte_size(written);
    for (const ConvolutionVariant& variant : offered) {
      ASSERT_EQ(variant.launches.size(), is_whole ? 1u : 2u) << p.key();
      const bool in_workspace = !is_whole && byte_size(p.epilogue.target) != 4;
      const auto result = first_launch(p, variant, played, in_workspace ? role_workspace : role_target, bytes);
      for (size_t pixel = 0; pixel < static_cast<size_t>(pixels_of(p)); ++pixel)
        for (size_t channel = 0; channel < pitch; ++channel) {
          const float found = number_at(written, result.data(), pixel * pitch + channel);
          ASSERT_TRUE(std::isfinite(found)) << p.key();
          if (channel >= played.bias.size()) continue;
          ASSERT_EQ(found, is_whole ? ended(p, played, pixel, channel) : played.sum(p, pixel, channel))
              << p.key() << " " << variant.name << " pixel " << pixel << " channel " << channel;
        }
    }
  }
  static float ended(const Convolution& p, const Played& played, size_t pixel, size_t channel) {
    float right = played.sum(p, pixel, channel) + played.bias[channel];
    if (p.epilogue.has_residual()) right += played.residual[pixel * played.bias.size() + channel];
    return ends_in_relu(p.epilogue) ? std::max(right, 0.0F) : right;
  }

  cuda::FakeDriver gpu_;
  cuda::DriverStandIn driver_{gpu_.table()};
  cuda::FakeCudnn fake_;
  cuda::CudnnStandIn library_{fake_.table()};
};

TEST_F(LibraryConvolutions, DoesThemWithBiasResidualAndRelu) {
  for (const ComputeType compute : {ComputeType::f32, ComputeType::tf32, ComputeType::f16, ComputeType::bf16})
    for (const auto& steps : whole_epilogues())
      for (const TestShape& shape :
           {TestShape{.size = 5, .in = 12, .out = 20}, TestShape{.size = 6, .in = 5, .out = 8, .kernel = 3, .stride = 2},
            TestShape{.size = 7, .in = 8, .out = 8, .kernel = 3, .dilation = 2}, TestShape{.size = 4, .in = 16, .out = 32, .groups = 2},
            TestShape{.size = 4, .in = 12, .out = 20, .kernel = 1}}) {
        Convolution p = test_convolution(compute, shape);
        p.epilogue.steps = steps;
        expect_right(p, true);
      }
}

// The library makes sums of float32, and a kernel of ours, which no played device runs, ends them.
TEST_F(LibraryConvolutions, MakesSumsWhereItsEpilogueIsNotOurs) {
  for (const ComputeType compute : {ComputeType::f32, ComputeType::tf32})
    for (const Element target : {Element::f32, Element::f16}) {
      Convolution p = test_convolution(compute, {.size = 5, .in = 12, .out = 20});
      p.epilogue.steps = {EpilogueStep::clamped(0, 6)};
      p.epilogue.target = target;
      expect_right(p, false);
    }
}

TEST_F(LibraryConvolutions, NamesTellVersionAndAlgorithm) {
  Convolution p = test_convolution(ComputeType::f32, {.size = 5});
  EXPECT_THAT(names(p), ElementsAre("cudnn 9.19.0 implicit_precomp_gemm", "cudnn 9.19.0 implicit_gemm"))
      << "those that transform pictures, differ from run to run or do not do it are left out";
  p.epilogue.steps.clear();
  EXPECT_THAT(names(p), ElementsAre("cudnn 9.19.0 implicit_precomp_gemm")) << "the others want an activation";
  p.epilogue.steps = {EpilogueStep::clamped(0, 6)};
  fake_.version_number = 8907;
  EXPECT_THAT(names(p), ElementsAre("cudnn 8.9.7 implicit_precomp_gemm ended", "cudnn 8.9.7 implicit_gemm ended"));
}

TEST_F(LibraryConvolutions, ProductsAreOfThePrecisionThatIsPromised) {
  const auto described = [](ComputeType compute) { return library_convolution(test_convolution(compute, {})).value(); };
  EXPECT_TRUE(described(ComputeType::f32).true_f32);
  EXPECT_FALSE(described(ComputeType::tf32).true_f32);
  EXPECT_EQ(described(ComputeType::bf16).operands, cuda::dnn_bf16);
  EXPECT_EQ(described(ComputeType::f16).result, cuda::dnn_f16);
}

TEST_F(LibraryConvolutions, OffersNothingForWhatItDoesNot) {
  for (const ComputeType compute : {ComputeType::i8, ComputeType::f8}) EXPECT_FALSE(library_convolution(test_convolution(compute, {})));
  Convolution p = test_convolution(ComputeType::f16, {});
  p.epilogue.steps = {EpilogueStep::clamped(0, 6)};
  EXPECT_FALSE(library_convolution(p)) << "of 16 bits it makes no sums of float32";
  p = test_convolution(ComputeType::f16, {});
  p.epilogue.target = p.epilogue.residual = Element::f32;
  EXPECT_FALSE(library_convolution(p));
  EXPECT_FALSE(library_convolution(test_convolution(ComputeType::f16, {.in = 20, .out = 20, .groups = 2}))) << "groups with gaps";
  p = test_convolution(ComputeType::f32, {});
  p.batch = int64_t{1} << 24;
  EXPECT_FALSE(library_convolution(p)) << "more elements than it counts";
  p = test_convolution(ComputeType::f32, {});
  p.batch = 0;
  EXPECT_FALSE(library_convolution(p));
  EXPECT_EQ(fake_.asked, 0);
  p = test_convolution(ComputeType::f32, {.size = 6, .stride = 2});
  p.pad_top = p.pad_left = 0;  // one row and column more below and on the right
  EXPECT_TRUE(variants(p).empty()) << "it pads both sides alike";
  fake_.workspace_each = size_t{65} << 20;
  EXPECT_THAT(names(test_convolution(ComputeType::f32, {})), ElementsAre("cudnn 9.19.0 implicit_gemm")) << "too much workspace";
}

TEST_F(LibraryConvolutions, ACallThatFailsIsAnErrorAsALaunchIs) {
  const Convolution p = test_convolution(ComputeType::f16, {.size = 5});
  const auto offered = variants(p);
  const Played played(p);
  fake_.runs = cuda::dnn_execution_failed;
  EXPECT_THROW(first_launch(p, offered.at(0), played, role_target, 1), Error);
  EXPECT_EQ(fake_.closed, 0) << "variants outlive who made them";
}

}  // namespace
}  // namespace deepgap::gpu
