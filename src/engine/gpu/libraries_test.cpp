// Products by a library that is played (cuda/fake_cublas_lt.h), which computes what it is described: what is described is right.
#include "engine/gpu/libraries.h"

#include "cuda/fake_cublas_lt.h"
#include "cuda/fake_driver.h"
#include "engine/gpu/bound_launch.h"
#include "engine/gpu/kernel_text.h"
#include "engine/gpu/library_products.h"
#include "engine/gpu/test_kernels.h"
#include "model/eval/half.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace deepgap::gpu {
namespace {

using cuda::FakeCublasLt;
using cuda::FakeDriver;
using ::testing::ElementsAre;
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

// Halves and whole numbers between -1 and 1: all sums of them are exact in every type.
float some_number(size_t seed) { return static_cast<float>(static_cast<int>(seed * 2654435761U >> 13 & 1023) % 5 - 2) / 2; }

float number_at(Element element, const void* from, size_t index) {
  const auto* bytes = static_cast<const unsigned char*>(from) + index * byte_size(element);
  uint32_t bits = 0;
  std::memcpy(&bits, bytes, byte_size(element));
  if (element == Element::f16) return to_float(Half{static_cast<uint16_t>(bits)});
  if (element == Element::bf16) return to_float(Bfloat16{static_cast<uint16_t>(bits)});
  return std::bit_cast<float>(bits);
}

ComputeType as_compute(Element element) {
  return element == Element::f16 ? ComputeType::f16 : element == Element::bf16 ? ComputeType::bf16 : ComputeType::f32;
}

class LibrariesTest : public ::testing::Test {
 protected:
  std::vector<ConvolutionVariant> variants(const Convolution& problem, const Chip& chip = {}) {
    return Libraries().variants(problem, chip);
  }

  FakeDriver gpu_;
  cuda::DriverStandIn driver_{gpu_.table()};
  FakeCublasLt fake_;
  cuda::CublasLtStandIn library_{fake_.table()};
};

// Numbers that a problem reads.
struct Played {
  std::vector<float> source, weights, bias, residual;  // without padding

  explicit Played(const Convolution& p) {
    const bool integers = p.compute == ComputeType::i8;
    auto numbers = [seed = size_t{1}](int64_t count, bool whole) mutable {
      std::vector<float> made(static_cast<size_t>(count));
      for (float& number : made) number = some_number(++seed) * (whole ? 2 : 1);
      return made;
    };
    source = numbers(pixels_of(p) * p.in_channels, integers);
    weights = numbers(p.out_channels * p.in_channels, true);
    bias = numbers(p.out_channels, false);
    residual = numbers(pixels_of(p) * p.out_channels, false);
  }
  float sum(const Convolution& p, size_t pixel, size_t channel) const {
    const auto depth = static_cast<size_t>(p.in_channels);
    float sum = 0;
    for (size_t k = 0; k < depth; ++k) sum += source[pixel * depth + k] * weights[channel * depth + k];
    return sum;
  }
};

// Padding holds ones, which must not matter.
std::vector<std::byte> padded(const std::vector<float>& numbers, int64_t rows, int64_t columns, int64_t pitch, ComputeType as) {
  std::vector<std::byte> bytes(static_cast<size_t>(rows * pitch) * operand_bytes(as));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < pitch; ++column)
      put_operand(bytes, static_cast<size_t>(row * pitch + column), as,
                  column < columns ? numbers[static_cast<size_t>(row * columns + column)] : 1.0F);
  return bytes;
}

std::vector<float> scale_bias_of(const Convolution& p, const Played& played) {
  std::vector<float> both(static_cast<size_t>(2 * p.out_pitch), 0.0F);
  std::fill_n(both.begin(), p.out_channels, 1.0F);
  std::copy(played.bias.begin(), played.bias.end(), both.begin() + p.out_pitch);
  return both;
}

Tensor tensor_of(const Convolution& p, const Played& played) {
  const Shape shape{p.out_channels, p.in_channels, 1, 1};
  Tensor weights = make_tensor(p.compute == ComputeType::i8 ? DataType::i8 : DataType::f32, shape);
  for (size_t i = 0; i < played.weights.size(); ++i)
    if (p.compute == ComputeType::i8)
      writable<int8_t>(weights)[i] = static_cast<int8_t>(played.weights[i]);
    else
      writable<float>(weights)[i] = played.weights[i];
  return weights;
}

std::vector<std::byte> first_launch(const Convolution& p, const ConvolutionVariant& variant, const Played& played, int result,
                                    size_t result_bytes) {
  const auto filled = [](const std::vector<std::byte>& bytes) {
    cuda::DeviceMemory memory(bytes.size());
    cuda::upload(memory.address(), bytes.data(), bytes.size());
    return memory;
  };
  const Element target = p.epilogue.target;
  std::vector<cuda::DeviceMemory> buffers;
  buffers.push_back(filled(padded(played.source, pixels_of(p), p.in_channels, p.in_pitch, p.compute)));
  buffers.push_back(filled(variant.pack(p, variant, tensor_of(p, played))));
  EXPECT_EQ(buffers.back().bytes(), variant.packed_bytes);
  buffers.push_back(filled(variant.packed_scale_bias(p, scale_bias_of(p, played))));
  buffers.push_back(filled(padded(played.residual, pixels_of(p), p.out_channels, p.out_pitch, as_compute(target))));
  const size_t poisoned = static_cast<size_t>(pixels_of(p) * p.out_pitch) * byte_size(target);
  buffers.push_back(filled(std::vector<std::byte>(poisoned, std::byte{0xff})));
  buffers.emplace_back(variant.workspace_bytes);
  const cuda::Stream stream;
  BoundLaunch(variant.launches.at(0), nullptr, [&](int role) { return buffers.at(static_cast<size_t>(role)).address(); }).run(stream.get());
  const auto* from = reinterpret_cast<const std::byte*>(buffers[static_cast<size_t>(result)].address());
  return {from, from + result_bytes};
}

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
  EXPECT_EQ(library_versions(), "cuBLASLt 12.8.4");
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
