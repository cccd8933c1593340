// Convolutions of each channel by itself. All is memory traffic, so there are no tiles in shared memory: a thread has `vector` neighbouring
// channels of a patch of outputs, reads each source vector of it once, and the caches serve what neighbours share. Sums of bytes are added
// as floats, which hold them exactly.
#include "base/rounding.h"
#include "engine/gpu/kernel_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace deepgap::gpu {
namespace {

constexpr unsigned threads = 128;
constexpr int64_t most_places = 81;  // places of the kernel: beyond this it is long text; sums of bytes stay below 2^24

struct Patch {
  int vector, x, y;
};

std::string constants(const Convolution& p, const Patch& patch) {
  std::string text = constant_text("THREADS", threads) + constant_text("vector", patch.vector);
  text += constant_text("patch_x", patch.x) + constant_text("patch_y", patch.y);
  text += constant_text("patches_x", (p.out_w + patch.x - 1) / patch.x) + constant_text("patches_y", (p.out_h + patch.y - 1) / patch.y);
  text += constant_text("rows_in", (patch.y - 1) * p.stride_h + (p.kernel_h - 1) * p.dilation_h + 1);
  text += constant_text("columns_in", (patch.x - 1) * p.stride_w + (p.kernel_w - 1) * p.dilation_w + 1);
  text += constant_text("words_in", patch.vector * static_cast<int64_t>(byte_size(p.source)) / 4);
  text +=
      fmt::format("static const unsigned outside_word = {}u;\n", static_cast<uint32_t>(static_cast<uint8_t>(p.source_zero)) * 0x01010101u);
  text += fmt::format("__device__ __forceinline__ float operand(unsigned word, int i) {{ return {}; }}\n",
                      p.compute == ComputeType::tf32 ? "rounded_to_tf32(Source::get(word, i))" : "Source::get(word, i)");
  return text;
}

std::string text_of(const Convolution& problem, const Patch& patch) {
  std::string text(kernel_prelude());
  text += epilogue_text(problem) + shape_text(problem) + constants(problem, patch);
  return text + head_text(problem, "depthwise", threads) + kernel_file("depthwise");
}

// [place][out_pitch], rounded as the products would, in float32.
std::vector<std::byte> pack(const Convolution& problem, const ConvolutionVariant& variant, const Tensor& weights) {
  const WeightReader reader(problem, weights);
  std::vector<std::byte> packed(variant.packed_bytes);
  for (int64_t y = 0; y < problem.kernel_h; y++)
    for (int64_t x = 0; x < problem.kernel_w; x++)
      for (int64_t channel = 0; channel < problem.out_channels; channel++)
        put_operand(packed, static_cast<size_t>((y * problem.kernel_w + x) * problem.out_pitch + channel), ComputeType::f32,
                    rounded(problem.compute, reader.at(channel, 0, y, x)));
  return packed;
}

ConvolutionVariant variant_of(const Convolution& problem, const Patch& patch, const Chip& chip) {
  ConvolutionVariant variant;
  variant.name = fmt::format("depthwise v{} {}x{}", patch.vector, patch.y, patch.x);
  variant.tile = {patch.vector, patch.x, patch.y};
  variant.pack = pack;
  variant.packed_bytes = static_cast<size_t>(problem.kernel_h * problem.kernel_w * problem.out_pitch) * sizeof(float);
  Launch launch;
  launch.entry = "depthwise";
  launch.source = text_of(problem, patch);
  const int64_t patches = problem.batch * ((problem.out_h + patch.y - 1) / patch.y) * ((problem.out_w + patch.x - 1) / patch.x);
  launch.grid = {static_cast<unsigned>(divide_up(patches * (problem.out_pitch / patch.vector), threads)), 1, 1};
  launch.block = {threads, 1, 1};
  launch.overlaps_previous = can_overlap(chip);
  launch.arguments = arguments_of(problem);
  variant.launches.push_back(std::move(launch));
  return variant;
}

bool fits(const Convolution& p, const Patch& patch) {
  const auto source = static_cast<int64_t>(byte_size(p.source)), target = static_cast<int64_t>(byte_size(p.epilogue.target));
  if (patch.vector * source > 16 || patch.vector * source < 4 || patch.vector * target > 32) return false;
  if (p.out_pitch % patch.vector != 0 || p.in_pitch < p.out_pitch) return false;
  if (p.epilogue.has_residual() && patch.vector * static_cast<int64_t>(byte_size(p.epilogue.residual)) < 4) return false;
  if ((patch.x > 1 && patch.x > p.out_w) || (patch.y > 1 && patch.y > p.out_h)) return false;
  const int64_t columns = (patch.x - 1) * p.stride_w + (p.kernel_w - 1) * p.dilation_w + 1;
  // Registers: sums, and a row of source words.
  return patch.x * patch.y * patch.vector <= 64 && columns * patch.vector * source / 4 <= (p.kernel_h * p.kernel_w > 9 ? 40 : 64) &&
         int64_t{patch.x} * patch.y * patch.vector * p.kernel_h * p.kernel_w <= 1600;
}

}  // namespace

std::vector<ConvolutionVariant> depthwise_variants(const Convolution& problem, const Chip& chip) {
  const bool alone = problem.groups == problem.in_channels && problem.groups == problem.out_channels && problem.groups > 1;
  const int64_t places = problem.kernel_h * problem.kernel_w;
  if (!alone || places > most_places) return {};
  // Large patches save reads, small ones fill the chip where there is little to do; in the order they did best in on an H100.
  const int64_t outputs = problem.batch * problem.out_h * problem.out_w * problem.out_pitch;
  const bool few = outputs / 16 < static_cast<int64_t>(chip.multiprocessors) * 1024;
  constexpr std::array<Patch, 9> for_many{
      {{4, 4, 2}, {4, 2, 2}, {8, 4, 1}, {8, 4, 2}, {4, 7, 1}, {8, 2, 2}, {4, 4, 1}, {4, 2, 1}, {4, 1, 1}}};
  constexpr std::array<Patch, 9> for_few{
      {{4, 2, 1}, {4, 1, 1}, {4, 2, 2}, {4, 4, 1}, {8, 2, 1}, {8, 4, 1}, {2, 1, 1}, {8, 2, 2}, {4, 7, 1}}};
  std::vector<Patch> patches;
  std::copy_if(few ? for_few.begin() : for_many.begin(), few ? for_few.end() : for_many.end(), std::back_inserter(patches),
               [&](const Patch& patch) { return fits(problem, patch); });
  const auto first_when = [&](bool condition, const Patch& best) {
    const auto found = std::find_if(patches.begin(), patches.end(),
                                    [&](const Patch& p) { return p.vector == best.vector && p.x == best.x && p.y == best.y; });
    if (condition && found != patches.end()) std::rotate(patches.begin(), found, found + 1);
  };
  first_when(!few && problem.compute == ComputeType::i8 && problem.out_pitch <= 32, {8, 4, 1});
  first_when(!few && problem.stride_w > 1, {4, 2, 2});
  first_when(!few && problem.out_w == 7, {4, 7, 1});
  std::vector<ConvolutionVariant> variants;
  for (const Patch& patch : patches) variants.push_back(variant_of(problem, patch, chip));
  return variants;
}

}  // namespace deepgap::gpu
