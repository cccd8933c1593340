// Convolutions on the tensor cores of sm_80 and later by mma.sync, and true float32 ones by plain multiplications in the same frame:
// kernels/mma.cuh is the kernel. Here: how problems are cut into tiles, which tiles are offered, and how weights are packed.
#include "engine/gpu/mma.h"

#include "base/rounding.h"
#include "engine/gpu/kernel_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace deepgap::gpu {
namespace {

constexpr int64_t chunk_bytes = 16;
constexpr size_t most_variants = 16;
constexpr int64_t widest_border = 16;  // places of the kernel, where some lie outside: bits of half a word

// Returns how many groups are joined: until a joined one begins and ends at whole chunks and has channels enough for a tile.
int64_t joined(const Convolution& p) {
  if (p.groups == 1 || p.out_pitch != p.out_channels) return p.groups;
  const auto in_bytes = static_cast<int64_t>(byte_size(p.source)) * (p.in_channels / p.groups);
  const int64_t out = p.out_channels / p.groups, out_unit = chunk_bytes / static_cast<int64_t>(byte_size(p.epilogue.target));
  for (int64_t count = 1; count < p.groups; count++)
    if (p.groups % count == 0 && count * in_bytes % chunk_bytes == 0 && count * out % out_unit == 0 && count * out >= 32) return count;
  return p.groups;
}

MmaSplit split_of(const Convolution& p, const MmaTile& tile) {
  MmaSplit s{};
  const int64_t together = joined(p);
  s.groups = p.groups / together;
  s.in = p.in_channels / s.groups;
  s.out = p.out_channels / s.groups;
  s.place_chunks = divide_up(s.in * static_cast<int64_t>(byte_size(p.source)), chunk_bytes);
  s.steps = divide_up(p.kernel_h * p.kernel_w * s.place_chunks, tile.row_bytes / chunk_bytes);
  s.tiles_m = divide_up(p.batch * p.out_h * p.out_w, tile.m);
  s.tiles_n = divide_up(s.groups == 1 ? p.out_pitch : s.out, tile.n);
  const auto whole = static_cast<int>(chunk_bytes / static_cast<int64_t>(byte_size(p.epilogue.target)));
  s.vector = tile.staged() ? 4 : std::min(whole, tile.n / tile.warps_n / 4);
  return s;
}

int64_t shared_bytes(const MmaTile& tile) {
  const int64_t steps = static_cast<int64_t>(tile.stages) * (tile.m + tile.n) * tile.row_bytes;
  return tile.staged() ? std::max<int64_t>(steps, static_cast<int64_t>(tile.warps_k) * tile.m * (tile.n + 8) * 4) : steps;
}

struct Shape {
  int m, n, warps_m, warps_n, warps_k;
};
constexpr std::array<Shape, 24> tensor_shapes{
    {{256, 128, 4, 2, 1}, {128, 256, 2, 4, 1}, {128, 128, 2, 2, 1}, {128, 128, 4, 2, 1}, {128, 128, 2, 4, 1}, {256, 64, 4, 1, 1},
     {128, 64, 2, 2, 1},  {128, 64, 4, 1, 1},  {64, 256, 2, 4, 1},  {64, 128, 2, 2, 1},  {64, 128, 1, 2, 1},  {64, 64, 2, 2, 1},
     {64, 64, 2, 1, 1},   {64, 64, 2, 2, 2},   {32, 128, 1, 2, 2},  {32, 64, 1, 1, 4},   {32, 64, 2, 2, 2},   {64, 32, 2, 1, 2},
     {32, 32, 1, 1, 4},   {256, 32, 4, 1, 1},  {128, 32, 4, 1, 1},  {128, 16, 4, 1, 1},  {16, 64, 1, 2, 4},   {16, 128, 1, 4, 2}}};
constexpr std::array<Shape, 8> float_shapes{{{128, 128, 2, 4, 1},
                                             {128, 64, 2, 2, 1},
                                             {64, 128, 1, 4, 1},
                                             {64, 64, 2, 2, 1},
                                             {128, 32, 4, 1, 1},
                                             {32, 64, 1, 2, 4},
                                             {32, 32, 1, 1, 4},
                                             {16, 64, 1, 2, 4}}};

// Clocks that the launch takes, roughly: enough to put the likely tiles first. The numbers were fitted to times of ResNet-50's layers on an
// H100.
double clocks(const Convolution& p, const MmaTile& tile, const MmaSplit& s, const Chip& chip) {
  const double blocks = static_cast<double>(s.tiles_m * s.tiles_n * s.groups * tile.split);
  const int sums = tile.m * tile.n * tile.warps_k / tile.threads(), registers = std::min(255, sums + 65);
  const int64_t by_shared = static_cast<int64_t>(chip.shared_bytes) / (shared_bytes(tile) + 1024);
  const int64_t fit =
      std::max<int64_t>(1, std::min({by_shared, int64_t{65536} / (int64_t{registers} * tile.threads()), int64_t{2048} / tile.threads()}));
  const double together = std::min(static_cast<double>(fit), std::max(1.0, std::ceil(blocks / chip.multiprocessors)));
  double waves = blocks / (chip.multiprocessors * together);
  if (waves < 4) waves = std::ceil(waves);
  const double bytes = tile.row_bytes, sharing = tile.warps_m * tile.warps_n, warps = sharing * tile.warps_k;
  const double products = static_cast<double>(tile.m) * tile.n * bytes / (p.compute == ComputeType::f32 ? 400.0 : 1340.0);
  const int of_warp = tile.m / tile.warps_m + tile.n / tile.warps_n;
  const double shared = (sharing * of_warp + tile.m + tile.n) * bytes / 1020;
  const double loads = (tile.m + tile.n) * bytes / 39;
  // A step of one block alone: its loads' way, and the products of a warp, which uses a quarter of the multiprocessor.
  const double alone = 380.0 / (tile.stages - 1) + 92 + 0.59 * products * std::max(1.0, 4 / warps);
  const double step = std::max(together * std::max({products, shared, loads}) + 1.5 * warps * together, alone);
  const double steps = std::ceil(static_cast<double>(s.steps) / tile.split);
  const double out_bytes = tile.m * tile.n / static_cast<double>(tile.split) *
                           static_cast<double>(byte_size(p.epilogue.target) * (p.epilogue.has_residual() ? 2 : 1));
  const double end = together * out_bytes / 16 + (tile.staged() ? 104 + sums * 14.7 : 0) + (tile.split > 1 ? 1890 + tile.split * 216 : 0);
  return waves * (2200 + steps * step + end * (together > 1 ? 0.73 : 1.0));
}

bool fits(const Convolution& p, const MmaTile& tile, const MmaSplit& s, const Chip& chip) {
  if (shared_bytes(tile) > static_cast<int64_t>(chip.shared_bytes)) return false;
  if (tile.split > 1 && (chip.architecture < 90 || s.steps < int64_t{2} * tile.split)) return false;
  if (tile.row_bytes / (p.compute == ComputeType::f32 ? 16 : 32) % tile.warps_k != 0) return false;
  // Sums and addresses of a thread that do not fit its registers.
  if (tile.m * tile.n * tile.warps_k / tile.threads() >= 128 && int64_t{tile.m} * tile.row_bytes / chunk_bytes / tile.threads() > 8)
    return false;
  const int64_t channels = s.groups == 1 ? p.out_pitch : s.out, pixels = p.batch * p.out_h * p.out_w;
  if (s.groups > 1 && s.out % s.vector != 0) return false;
  return (tile.n == 16 || tile.n < 2 * channels) && (tile.m <= 32 || tile.m < 2 * pixels);
}

struct Rated {
  double clocks;
  MmaTile tile;
};

// Few of one shape, that other shapes get their chance; the number of stages alone makes no other variant.
std::vector<MmaTile> best_of(std::vector<Rated> rated) {
  std::stable_sort(rated.begin(), rated.end(), [](const Rated& a, const Rated& b) { return a.clocks < b.clocks; });
  std::vector<MmaTile> best;
  for (const Rated& r : rated) {
    const auto of_shape = [&](const MmaTile& t) {
      return t.m == r.tile.m && t.n == r.tile.n && t.warps_m == r.tile.warps_m && t.warps_n == r.tile.warps_n &&
             t.warps_k == r.tile.warps_k;
    };
    const auto alike = [&](const MmaTile& t) { return of_shape(t) && t.row_bytes == r.tile.row_bytes && t.split == r.tile.split; };
    if (best.size() < most_variants && std::count_if(best.begin(), best.end(), of_shape) < 3 &&
        std::none_of(best.begin(), best.end(), alike))
      best.push_back(r.tile);
  }
  return best;
}

std::vector<MmaTile> tiles_for(const Convolution& p, const Chip& chip) {
  std::vector<Rated> rated;
  const auto offer = [&](const Shape& shape) {
    for (const int row_bytes : {64, 128})
      for (const int stages : {2, 3, 4, 5, 8})
        for (const int split : {1, 2, 4, 8}) {
          MmaTile tile{shape.m, shape.n, row_bytes, stages, shape.warps_m, shape.warps_n, shape.warps_k, split};
          const MmaSplit s = split_of(p, tile);
          // No more stages than there are steps, and two only where that is all.
          const int64_t steps = divide_up(s.steps, split);
          if (stages > std::max<int64_t>(2, steps + 1) || (stages == 2 && steps > 1)) continue;
          if (fits(p, tile, s, chip)) rated.push_back({clocks(p, tile, s, chip), tile});
        }
  };
  if (p.compute == ComputeType::f32)
    std::for_each(float_shapes.begin(), float_shapes.end(), offer);
  else
    std::for_each(tensor_shapes.begin(), tensor_shapes.end(), offer);
  return best_of(std::move(rated));
}

// The channel, of its warp's, that row `row` of the packed weights holds: see ConvolutionVariant::pack. In the kernels, column_of.
int channel_of(const MmaTile& tile, int vector, bool floats, int row) {
  if (tile.staged()) return row;
  const int warp_n = tile.n / tile.warps_n, in_warp = row % warp_n;
  const int lane = floats ? in_warp % 4 : in_warp % 8 / 2, column = floats ? in_warp / 4 : in_warp / 8 * 2 + in_warp % 2;
  return row - in_warp + column / vector * vector * 4 + lane * vector + column % vector;
}

MmaTile tile_of(const ConvolutionVariant& variant) {
  const auto& t = variant.tile;
  return {t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7]};
}

// Packs one channel of one joined group: its chunks go to row `row` of each step's tile, which lie `step_bytes` apart from `begin` on.
class ChannelPacker {
 public:
  ChannelPacker(const Convolution& problem, const MmaTile& tile, const MmaSplit& split, const Tensor& weights,
                std::vector<std::byte>& packed)
      : p_(problem), tile_(tile), s_(split), reader_(problem, weights), packed_(packed) {}

  void pack(size_t begin, int row, int64_t out) const {
    const int64_t group_in = p_.in_channels / p_.groups, group = out / (p_.out_channels / p_.groups);
    const int64_t first_in = group * group_in % s_.in, bytes = static_cast<int64_t>(operand_bytes(p_.compute));
    for (int64_t y = 0; y < p_.kernel_h; y++)
      for (int64_t x = 0; x < p_.kernel_w; x++)
        for (int64_t in = 0; in < group_in; in++) {
          const int64_t byte = (first_in + in) * bytes, chunk = (y * p_.kernel_w + x) * s_.place_chunks + byte / chunk_bytes;
          const size_t at = begin + place(row, chunk) + static_cast<size_t>(byte % chunk_bytes);
          put_operand(packed_, at / static_cast<size_t>(bytes), p_.compute, reader_.at(out, in, y, x));
        }
  }

 private:
  size_t place(int row, int64_t chunk) const {
    const int64_t row_chunks = tile_.row_bytes / chunk_bytes, column = chunk % row_chunks;
    const int64_t exchanged = row_chunks == 8 ? column ^ (row & 7) : column ^ (row >> 1 & 3);
    return static_cast<size_t>(chunk / row_chunks * tile_.n * tile_.row_bytes + int64_t{row} * tile_.row_bytes + exchanged * chunk_bytes);
  }

  const Convolution& p_;
  const MmaTile& tile_;
  const MmaSplit& s_;
  WeightReader reader_;
  std::vector<std::byte>& packed_;
};

// [joined group][tile of channels][step][row][row_bytes], as the kernel holds it in shared memory.
std::vector<std::byte> pack(const Convolution& problem, const ConvolutionVariant& variant, const Tensor& weights) {
  const MmaTile tile = tile_of(variant);
  const MmaSplit s = split_of(problem, tile);
  std::vector<std::byte> packed(variant.packed_bytes);
  const ChannelPacker packer(problem, tile, s, weights, packed);
  const auto tile_bytes = static_cast<size_t>(s.steps * tile.n * tile.row_bytes);
  for (int64_t group = 0; group < s.groups; group++)
    for (int64_t column = 0; column < s.tiles_n; column++)
      for (int row = 0; row < tile.n; row++) {
        const int64_t channel = column * tile.n + channel_of(tile, s.vector, problem.compute == ComputeType::f32, row);
        if (channel < s.out) packer.pack(static_cast<size_t>(group * s.tiles_n + column) * tile_bytes, row, group * s.out + channel);
      }
  return packed;
}

ConvolutionVariant variant_of(const Convolution& problem, const MmaTile& tile, const Chip& chip) {
  const MmaSplit s = split_of(problem, tile);
  ConvolutionVariant variant;
  variant.name = fmt::format("mma {}x{}x{} s{} w{}x{}x{}{}", tile.m, tile.n, tile.row_bytes, tile.stages, tile.warps_m, tile.warps_n,
                             tile.warps_k, tile.split > 1 ? fmt::format(" c{}", tile.split) : "");
  variant.tile = {tile.m, tile.n, tile.row_bytes, tile.stages, tile.warps_m, tile.warps_n, tile.warps_k, tile.split};
  variant.pack = pack;
  variant.packed_bytes = static_cast<size_t>(s.groups * s.tiles_n * s.steps * tile.n * tile.row_bytes);
  Launch launch;
  launch.entry = "mma";
  launch.source = mma_text(problem, tile, s);
  launch.grid = {static_cast<unsigned>(s.tiles_m * s.tiles_n * tile.split), static_cast<unsigned>(s.groups), 1};
  launch.block = {static_cast<unsigned>(tile.threads()), 1, 1};
  launch.shared_bytes = static_cast<size_t>(shared_bytes(tile));
  launch.cluster = static_cast<unsigned>(tile.split);
  launch.overlaps_previous = can_overlap(chip);
  launch.arguments = arguments_of(problem);
  variant.launches.push_back(std::move(launch));
  return variant;
}

}  // namespace

std::vector<ConvolutionVariant> mma_variants(const Convolution& problem, const Chip& chip) {
  if (chip.architecture < (problem.compute == ComputeType::f8 ? 89 : 80)) return {};
  if (problem.in_pitch * static_cast<int64_t>(byte_size(problem.source)) % 16 != 0) return {};  // a stem's four channels
  if (reads_outside(problem) && std::max(problem.kernel_h, problem.kernel_w) > widest_border) return {};
  std::vector<ConvolutionVariant> variants;
  for (const MmaTile& tile : tiles_for(problem, chip)) variants.push_back(variant_of(problem, tile, chip));
  return variants;
}

}  // namespace deepgap::gpu
