// Operators that repeat elements or put them into another order: any element type.
#include "model/eval/operator.h"
#include "model/eval/rearrange.h"

#include <fmt/format.h>

#include <cstring>

namespace deepgap {
namespace {

std::vector<Tensor> tile(const Call& call) {
  Tensor y = call.input(0);
  const auto repeats = call.integers(1);
  if (repeats.size() != y.shape.size()) call.fail(fmt::format("{} repeats for rank {}", repeats.size(), y.shape.size()));
  for (size_t axis = 0; axis < repeats.size(); ++axis) {
    if (repeats[axis] < 0) call.fail("a repeat is negative");
    if (repeats[axis] == 1) continue;
    Shape sizes = y.shape;
    sizes.push_back(repeats[axis]);
    call.expect_possible(sizes);
    std::vector<int64_t> indices(static_cast<size_t>(y.shape[axis] * repeats[axis]));
    for (size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int64_t>(i) % y.shape[axis];
    y = take(y, axis, indices);
  }
  return {y};
}

// Sizes of a picture whose height and width are counted in blocks.
struct Blocks {
  int64_t samples, channels, height, width, block;
};

int64_t block_size(const Call& call) {
  if (call.input(0).shape.size() != 4) call.fail(fmt::format("its input has {} dimensions", call.input(0).shape.size()));
  const int64_t block = call.int_of("blocksize", 0);
  if (block < 1 || block > 65536) call.fail(fmt::format("blocksize is {}", block));
  return block;
}

std::vector<Tensor> depth_to_space(const Call& call) {
  const Tensor& x = call.input(0);
  const int64_t block = block_size(call);
  if (x.shape[1] % (block * block) != 0) call.fail(fmt::format("{} channels do not fill blocks of {}", x.shape[1], block * block));
  const Blocks b{x.shape[0], x.shape[1] / (block * block), x.shape[2], x.shape[3], block};
  const std::string mode = call.text_of("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") call.fail("mode '" + mode + "' does not exist");
  // The mode says whether a channel's block lies along the channels or within one (depth, column, row).
  const Tensor y = mode == "DCR"
                       ? transposed(x, {b.samples, block, block, b.channels, b.height, b.width}, std::vector<int64_t>{0, 3, 4, 1, 5, 2})
                       : transposed(x, {b.samples, b.channels, block, block, b.height, b.width}, std::vector<int64_t>{0, 1, 4, 2, 5, 3});
  return {copy_with_shape(y, {b.samples, b.channels, b.height * block, b.width * block})};
}

std::vector<Tensor> space_to_depth(const Call& call) {
  const Tensor& x = call.input(0);
  const int64_t block = block_size(call);
  if (x.shape[2] % block != 0 || x.shape[3] % block != 0)
    call.fail(fmt::format("height {} and width {} are not multiples of {}", x.shape[2], x.shape[3], block));
  const Blocks b{x.shape[0], x.shape[1], x.shape[2] / block, x.shape[3] / block, block};
  const std::string mode = call.text_of("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") call.fail("mode '" + mode + "' does not exist");
  const std::vector<int64_t> order = mode == "DCR" ? std::vector<int64_t>{0, 3, 5, 1, 2, 4} : std::vector<int64_t>{0, 1, 3, 5, 2, 4};
  const Tensor y = transposed(x, {b.samples, b.channels, b.height, block, b.width, block}, order);
  return {copy_with_shape(y, {b.samples, b.channels * block * block, b.height, b.width})};
}

// The first sequence_lens[b] steps of each sample b backwards, the rest as they are.
std::vector<Tensor> reverse_sequence(const Call& call) {
  const Tensor& x = call.input(0);
  if (x.shape.size() < 2) call.fail("its input has no batch and time");
  const int64_t time_axis = call.int_of("time_axis", 0), batch_axis = call.int_of("batch_axis", 1);
  if (time_axis + batch_axis != 1 || time_axis * batch_axis != 0) call.fail("batch_axis and time_axis are not 0 and 1");
  const auto lengths = call.integers(1);
  const int64_t steps = x.shape[static_cast<size_t>(time_axis)], samples = x.shape[static_cast<size_t>(batch_axis)];
  if (static_cast<int64_t>(lengths.size()) != samples) call.fail(fmt::format("{} lengths for {} samples", lengths.size(), samples));
  const auto strides = row_major_strides(x.shape);
  const int64_t slice = strides[1] * static_cast<int64_t>(byte_size(x.type));
  Tensor y = make_tensor(x.type, x.shape);
  std::byte* to = writable<std::byte>(y).data();
  for (int64_t sample = 0; sample < samples; ++sample) {
    const int64_t length = lengths[static_cast<size_t>(sample)];
    if (length < 0 || length > steps) call.fail(fmt::format("a length of {} in {} steps", length, steps));
    for (int64_t step = 0; step < steps; ++step) {
      const int64_t from = step < length ? length - 1 - step : step;
      const auto place = [&](int64_t t) { return (time_axis == 0 ? t * samples + sample : sample * steps + t) * slice; };
      std::memcpy(to + place(step), x.data.get() + place(from), static_cast<size_t>(slice));
    }
  }
  return {y};
}

const bool registered[] = {
    add_operator("DepthToSpace", depth_to_space),
    add_operator("ReverseSequence", reverse_sequence),
    add_operator("SpaceToDepth", space_to_depth),
    add_operator("Tile", tile),
};

}  // namespace
}  // namespace deepgap
