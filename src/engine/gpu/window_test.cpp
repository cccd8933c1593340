#include "engine/gpu/window.h"

#include "engine/gpu/hopper_text.h"
#include "engine/gpu/test_kernels.h"
#include "engine/gpu/tile_epilogue.h"

namespace deepgap::gpu {
namespace {

const Chip h100{90, 132, 227 << 10};

std::vector<ConvolutionVariant> window_variants(const Convolution& problem, const Chip& chip) {
  auto tiles = window_tiles(problem, chip);
  std::stable_sort(tiles.begin(), tiles.end(), [](const auto& a, const auto& b) { return a.cycles < b.cycles; });
  std::vector<ConvolutionVariant> variants;
  for (const auto& estimated : tiles) variants.push_back(variant_of(problem, estimated.tile, chip));
  return variants;
}

TEST(Window, CompilesInEveryPrecisionWithoutSpills) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  for (const ComputeType compute : {ComputeType::tf32, ComputeType::f16, ComputeType::bf16, ComputeType::i8})
    for (const TestShape& shape : {TestShape{.size = 56, .in = 64, .out = 64}, TestShape{.size = 7, .in = 512, .out = 512}}) {
      auto variants = window_variants(test_convolution(compute, shape), h100);
      ASSERT_FALSE(variants.empty());
      variants.resize(std::min<size_t>(variants.size(), 2));
      expect_compiled(variants, h100);
    }
}

TEST(Window, LeavesWhatItCannotDo) {
  Convolution problem = test_convolution(ComputeType::i8, {});
  problem.source_zero = 3;  // TMA pads with 0
  EXPECT_TRUE(window_variants(problem, h100).empty());
  EXPECT_TRUE(window_variants(test_convolution(ComputeType::f16, {.stride = 2}), h100).empty());
  EXPECT_TRUE(window_variants(test_convolution(ComputeType::f16, {.kernel = 1}), h100).empty());
  EXPECT_TRUE(window_variants(test_convolution(ComputeType::f16, {.groups = 2}), h100).empty());
  EXPECT_TRUE(window_variants(test_convolution(ComputeType::f16, {.size = 300}), h100).empty());  // a row is wider than a copy
}

TEST(Window, RegionsCoverThePictureAndWhatTapsReach) {
  const Convolution problem = test_convolution(ComputeType::i8, {.size = 14, .in = 256, .out = 256});
  WindowTile tile;
  tile.teams = 2;
  tile.columns = 128;
  const WindowPlan plan = plan_of(problem, tile);  // 128 rows of the product, 16 pixels a padded row: at most 8 rows
  EXPECT_EQ(plan.padded_w, 16);
  EXPECT_EQ(plan.region_rows, 7);
  EXPECT_EQ(plan.row_regions, 2);
  EXPECT_EQ(plan.box_rows, 9);
  EXPECT_EQ(plan.row_tiles, 4);
  EXPECT_GE(plan.region_bytes, static_cast<size_t>((128 + 2 * 16 + 2) * 128));
  tile.regions = 2;  // 64 each: 4 rows
  EXPECT_EQ(plan_of(problem, tile).region_rows, 4);
  EXPECT_EQ(plan_of(problem, tile).row_tiles, 4);
}

TEST(Window, PacksWeightsChannelsFirst) {
  const Convolution problem = test_convolution(ComputeType::i8, {.in = 256, .out = 80});
  Tensor weights = make_tensor(DataType::i8, {80, 256, 3, 3});
  for (size_t i = 0; i < size_t{80} * 256 * 9; i++) writable<int8_t>(weights)[i] = static_cast<int8_t>(i * 7 % 251);
  for (const ConvolutionVariant& variant : window_variants(problem, h100)) {
    const auto columns = static_cast<size_t>(variant.tile[2]), bytes = static_cast<size_t>(variant.tile[6]);
    const std::vector<std::byte> packed = variant.pack(problem, variant, weights);
    ASSERT_EQ(packed.size(), variant.packed_bytes);
    const size_t tap = 5, channel = 130, column = 3;
    const size_t place =
        (channel / bytes * 9 + tap) * columns * bytes + permuted(column * bytes + channel % bytes, static_cast<int>(bytes));
    const auto out = static_cast<size_t>(channel_of_column(column, run_of(problem, static_cast<int>(columns))));
    EXPECT_EQ(static_cast<int>(packed[place]), static_cast<uint8_t>(weights.as<int8_t>()[(out * 256 + channel) * 9 + tap])) << variant.name;
  }
}

}  // namespace
}  // namespace deepgap::gpu
