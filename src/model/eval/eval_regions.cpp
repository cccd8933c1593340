// Operators of pictures that move windows' values: Col2Im, MaxUnpool, CenterCropPad; and Det. Sums run in double precision, in the order of
// memory.
#include "model/eval/element_types.h"
#include "model/eval/operator.h"
#include "model/eval/strided.h"
#include "model/eval/widened.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace deepgap {
namespace {

// One direction of the blocks that Col2Im lays over a picture.
struct Blocks {
  int64_t size, block, dilation, stride, begin, count;
};

std::vector<Blocks> blocks_of(const Call& call) {
  const auto picture = call.integers(1), block = call.integers(2);
  const size_t rank = picture.size();
  const auto dilations = call.ints_of("dilations", Shape(rank, 1)), strides = call.ints_of("strides", Shape(rank, 1));
  const auto pads = call.ints_of("pads", Shape(2 * rank, 0));
  if (block.size() != rank || dilations.size() != rank || strides.size() != rank || pads.size() != 2 * rank)
    call.fail("its sizes are not of one rank");
  std::vector<Blocks> all;
  constexpr int64_t limit = int64_t{1} << 31;
  const auto within = [&](int64_t value, int64_t least) {
    if (value < least || value > limit) call.fail(fmt::format("a size is {}", value));
  };
  for (size_t i = 0; i < rank; ++i) {
    for (const int64_t value : {block[i], dilations[i], strides[i]}) within(value, 1);
    for (const int64_t value : {picture[i], pads[i], pads[rank + i]}) within(value, 0);
    const int64_t room = picture[i] + pads[i] + pads[rank + i] - dilations[i] * (block[i] - 1) - 1;
    if (room < 0) call.fail(fmt::format("a block of {} does not fit an image of {}", block[i], picture[i]));
    all.push_back({picture[i], block[i], dilations[i], strides[i], pads[i], room / strides[i] + 1});
  }
  return all;
}

// The place in the picture of element `tap` of block `place`; -1 outside of it.
int64_t picture_place(const std::vector<Blocks>& axes, int64_t place, int64_t tap) {
  int64_t at = 0, stride = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    const Blocks& axis = axes[i];
    const int64_t position = place % axis.count * axis.stride - axis.begin + tap % axis.block * axis.dilation;
    if (position < 0 || position >= axis.size) return -1;
    at += position * stride;
    stride *= axis.size;
    place /= axis.count;
    tap /= axis.block;
  }
  return at;
}

std::vector<Tensor> col2im(const Call& call) {
  const Tensor& x = call.input(0);
  const auto axes = blocks_of(call);
  int64_t taps = 1, places = 1, pixels = 1;
  for (const Blocks& axis : axes) taps *= axis.block, places *= axis.count, pixels *= axis.size;
  if (x.shape.size() != 3 || x.shape[1] % taps != 0 || x.shape[2] != places)
    call.fail(fmt::format("its input should have shape [batch, channels * {}, {}]", taps, places));
  Shape shape{x.shape[0], x.shape[1] / taps};
  for (const Blocks& axis : axes) shape.push_back(axis.size);
  Tensor y = make_tensor(x.type, shape);
  with_float(call, x.type, [&]<typename T>(T) {
    std::vector<double> sums(static_cast<size_t>(pixels));
    for (int64_t plane = 0; plane < shape[0] * shape[1]; ++plane) {
      std::ranges::fill(sums, 0.0);
      for (int64_t tap = 0; tap < taps; ++tap)
        for (int64_t place = 0; place < places; ++place)
          if (const int64_t at = picture_place(axes, place, tap); at >= 0)
            sums[static_cast<size_t>(at)] += static_cast<double>(x.as<T>()[static_cast<size_t>((plane * taps + tap) * places + place)]);
      std::ranges::transform(sums, writable<T>(y).begin() + plane * pixels, [](double sum) { return static_cast<T>(sum); });
    }
  });
  return {y};
}

// Puts pooled values back where MaxPool found them: indices count the elements of the unpooled tensor, or, with an output_shape, of the one
// that the windows would have made.
std::vector<Tensor> max_unpool(const Call& call) {
  const Tensor& x = call.input(0);
  const auto indices = call.integers(1);
  const auto kernel = call.ints_of("kernel_shape", {});
  const size_t rank = kernel.size();
  const auto strides = call.ints_of("strides", Shape(rank, 1)), pads = call.ints_of("pads", Shape(2 * rank, 0));
  if (rank == 0 || x.shape.size() != rank + 2 || strides.size() != rank || pads.size() != 2 * rank || call.input(1).shape != x.shape)
    call.fail("input, indices and windows do not fit together");
  Shape windows{x.shape[0], x.shape[1]};
  for (size_t i = 0; i < rank; ++i) windows.push_back((x.shape[i + 2] - 1) * strides[i] + kernel[i] - pads[i] - pads[rank + i]);
  const Shape shape = call.has(2) ? call.integers(2) : windows;
  if (shape.size() != windows.size()) call.fail("output_shape has another rank");
  for (size_t i = 0; i < shape.size(); ++i)
    if (windows[i] < 0 || shape[i] < windows[i] || shape[i] > (int64_t{1} << 31))
      call.fail(fmt::format("output_shape should be at least [{}]", fmt::join(windows, ",")));
  const size_t bytes = byte_size(x.type);
  Tensor y = make_tensor(x.type, shape);
  std::byte* to = writable<std::byte>(y).data();
  std::memset(to, 0, y.bytes());
  const auto seen = row_major_strides(windows), strides_there = row_major_strides(shape);
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= product_of(windows)) call.fail(fmt::format("index {} of {}", indices[i], product_of(windows)));
    int64_t rest = indices[i], at = 0;
    for (size_t d = 0; d < seen.size(); rest %= seen[d], ++d) at += rest / seen[d] * strides_there[d];
    std::memcpy(to + static_cast<size_t>(at) * bytes, x.data.get() + i * bytes, bytes);
  }
  return {y};
}

// Cuts from, or pads with zeros, both sides of each axis; the odd one out goes to the end.
std::vector<Tensor> center_crop_pad(const Call& call) {
  const Tensor& x = call.input(0);
  const size_t rank = x.shape.size();
  const auto wanted = call.integers(1);
  std::vector<int64_t> every(rank);
  for (size_t i = 0; i < rank; ++i) every[i] = static_cast<int64_t>(i);
  const auto axes = call.ints_of("axes", every);
  if (axes.size() != wanted.size()) call.fail(fmt::format("{} sizes for {} axes", wanted.size(), axes.size()));
  Shape shape = x.shape, common = x.shape;
  const auto from_strides = row_major_strides(x.shape);
  std::vector<int64_t> begins(rank, 0), places(rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(call.axis(axes[i], rank));
    if (wanted[i] < 0 || wanted[i] > (int64_t{1} << 31)) call.fail(fmt::format("a size is {}", wanted[i]));
    shape[axis] = wanted[i];
    common[axis] = std::min(wanted[i], x.shape[axis]);
    begins[axis] = (x.shape[axis] - common[axis]) / 2;
    places[axis] = (wanted[i] - common[axis]) / 2;
  }
  const size_t bytes = byte_size(x.type);
  Tensor y = make_tensor(x.type, shape);
  std::byte* to = writable<std::byte>(y).data();
  std::memset(to, 0, y.bytes());
  const auto to_strides = row_major_strides(shape);
  int64_t from_at = 0, to_at = 0;
  for (size_t i = 0; i < rank; ++i) from_at += begins[i] * from_strides[i], to_at += places[i] * to_strides[i];
  if (product_of(common) > 0)
    copy_strided(common, bytes, {x.data.get() + static_cast<size_t>(from_at) * bytes, from_strides},
                 {to + static_cast<size_t>(to_at) * bytes, to_strides});
  return {y};
}

// Eliminates with the largest pivot of each column.
double determinant(std::vector<double> a, size_t n) {
  double result = 1;
  for (size_t column = 0; column < n; ++column) {
    size_t pivot = column;
    for (size_t row = column + 1; row < n; ++row)
      if (std::fabs(a[row * n + column]) > std::fabs(a[pivot * n + column])) pivot = row;
    if (a[pivot * n + column] == 0) return 0;
    if (pivot != column) {
      for (size_t k = 0; k < n; ++k) std::swap(a[pivot * n + k], a[column * n + k]);
      result = -result;
    }
    result *= a[column * n + column];
    for (size_t row = column + 1; row < n; ++row) {
      const double factor = a[row * n + column] / a[column * n + column];
      for (size_t k = column; k < n; ++k) a[row * n + k] -= factor * a[column * n + k];
    }
  }
  return result;
}

std::vector<Tensor> det(const Call& call) {
  const Tensor& x = call.input(0);
  const size_t rank = x.shape.size();
  if (rank < 2 || x.shape[rank - 1] != x.shape[rank - 2]) call.fail("its input does not end in square matrices");
  const auto n = static_cast<size_t>(x.shape.back());
  Tensor y = make_tensor(x.type, Shape(x.shape.begin(), x.shape.end() - 2));
  with_float(call, x.type, [&]<typename T>(T) {
    for (size_t i = 0; i < writable<T>(y).size(); ++i) {
      const auto matrix = x.as<T>().subspan(i * n * n, n * n);
      writable<T>(y)[i] = static_cast<T>(determinant({matrix.begin(), matrix.end()}, n));
    }
  });
  return {y};
}

const bool registered[] = {
    add_operator("CenterCropPad", center_crop_pad),
    add_operator("Col2Im", widened<col2im>),
    add_operator("Det", widened<det>),
    add_operator("MaxUnpool", max_unpool),
};

}  // namespace
}  // namespace deepgap
