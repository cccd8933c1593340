// Signals: DFT, STFT, the windows, MelWeightMatrix. Transforms are written as their sums, in double precision: slow, and the same
// everywhere but for the C library's sines.
#include "model/eval/element_types.h"
#include "model/eval/lines.h"
#include "model/eval/parallel.h"
#include "model/eval/widened.h"
#include "model/onnx_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

namespace deepgap {
namespace {

using Complex = std::complex<double>;

constexpr int64_t longest = int64_t{1} << 24;

// exp(sign * 2 pi i k / count) for k < count.
std::vector<Complex> turns(int64_t count, bool inverse) {
  std::vector<Complex> all;
  for (int64_t k = 0; k < count; ++k)
    all.push_back(std::polar(1.0, (inverse ? 2 : -2) * std::numbers::pi * static_cast<double>(k) / static_cast<double>(count)));
  return all;
}

Complex transformed_at(std::span<const Complex> signal, std::span<const Complex> turns, int64_t frequency) {
  const auto count = static_cast<int64_t>(turns.size());
  Complex sum = 0;
  int64_t turn = 0;
  for (const Complex& value : signal) {
    sum += value * turns[static_cast<size_t>(turn)];
    turn = (turn + frequency) % count;
  }
  return sum;
}

int64_t one_number(const Call& call, size_t input, int64_t least) {
  const auto values = call.integers(input);
  if (values.size() != 1 || values[0] < least || values[0] > longest)
    call.fail(fmt::format("input {} is not one number from {} to {}", input, least, longest));
  return values[0];
}

// The data that one transform reads and makes along its axis.
struct Transform {
  int64_t length = 0, made = 0;
  bool inverse = false, onesided = false;
};

// The half of a spectrum that is kept of a real signal, made whole again.
std::vector<Complex> whole(std::vector<Complex> half, int64_t length) {
  half.resize(static_cast<size_t>(length / 2 + 1));
  for (int64_t k = length / 2 + 1; k < length; ++k) half.push_back(std::conj(half[static_cast<size_t>(length - k)]));
  half[0] = half[0].real();
  if (length % 2 == 0) half[static_cast<size_t>(length / 2)] = half[static_cast<size_t>(length / 2)].real();
  half.resize(static_cast<size_t>(length));
  return half;
}

template <typename T>
Tensor transform(const Tensor& x, int64_t axis, const Transform& how) {
  const int64_t parts = x.shape.back(), made_parts = how.inverse && how.onesided ? 1 : 2;
  const Lines lines = lines_along(std::span(x.shape).first(x.shape.size() - 1), axis);
  Shape shape = x.shape;
  shape[static_cast<size_t>(axis)] = how.made;
  shape.back() = made_parts;
  Tensor y = make_tensor(x.type, shape);
  const auto all_turns = turns(how.length, how.inverse);
  const T* from = x.as<T>().data();
  T* to = writable<T>(y).data();
  parallel_for(lines.lines(), static_cast<double>(how.length * how.made) * 8, [&](int64_t line) {
    std::vector<Complex> signal;
    for (int64_t i = 0; i < std::min(lines.count, how.length); ++i) {
      const T* value = from + (lines.begin(line) + i * lines.stride) * parts;
      signal.emplace_back(value[0], parts == 2 ? static_cast<double>(value[1]) : 0);
    }
    if (how.inverse && how.onesided) signal = whole(std::move(signal), how.length);
    const int64_t begin = line / lines.stride * how.made * lines.stride + line % lines.stride;
    for (int64_t k = 0; k < how.made; ++k) {
      Complex value = transformed_at(signal, all_turns, k);
      if (how.inverse) value /= static_cast<double>(how.length);
      T* made = to + (begin + k * lines.stride) * made_parts;
      made[0] = static_cast<T>(value.real());
      if (made_parts == 2) made[1] = static_cast<T>(value.imag());
    }
  });
  return y;
}

// Since opset 20 the axis is an input, before it was an attribute that counts from the front.
std::vector<Tensor> dft(const Call& call) {
  const Tensor& x = call.input(0);
  if (x.shape.size() < 2 || x.shape.back() < 1 || x.shape.back() > 2)
    call.fail("its input does not end in one part or two, real and imaginary");
  int64_t axis = call.graph.opset < 20 ? call.int_of("axis", 1) : -2;
  if (call.graph.opset >= 20 && call.has(2)) axis = call.integers(2).at(0);
  axis = call.axis(axis, x.shape.size());
  if (axis + 1 == static_cast<int64_t>(x.shape.size())) call.fail("its axis is that of real and imaginary parts");
  Transform how{.inverse = call.int_of("inverse", 0) != 0, .onesided = call.int_of("onesided", 0) != 0};
  const int64_t size = x.shape[static_cast<size_t>(axis)];
  how.length = call.has(1) ? one_number(call, 1, 1) : how.inverse && how.onesided ? 2 * (size - 1) : size;
  if (how.length < 1) call.fail("there is nothing to transform");
  how.made = how.onesided && !how.inverse ? how.length / 2 + 1 : how.length;
  return with_float(call, x.type, [&]<typename T>(T) { return std::vector{transform<T>(x, axis, how)}; });
}

std::vector<Tensor> stft(const Call& call) {
  const Tensor& x = call.input(0);
  if (x.shape.size() != 3 || x.shape[2] < 1 || x.shape[2] > 2) call.fail("its signal should have shape [batch, length, 1 or 2]");
  const int64_t step = one_number(call, 1, 1), parts = x.shape[2];
  const int64_t length = call.has(3) ? one_number(call, 3, 1) : call.has(2) ? product_of(call.input(2).shape) : x.shape[1];
  if (length < 1 || length > x.shape[1]) call.fail(fmt::format("frames of {} in a signal of {}", length, x.shape[1]));
  if (call.has(2) && (call.input(2).shape != Shape{length} || call.input(2).type != x.type))
    call.fail(fmt::format("its window is not {} numbers of the signal's type", length));
  const int64_t frames = 1 + (x.shape[1] - length) / step;
  Tensor cut = make_tensor(x.type, {x.shape[0], frames, length, parts});
  const Transform how{length, call.int_of("onesided", 1) != 0 ? length / 2 + 1 : length, false, true};
  return with_float(call, x.type, [&]<typename T>(T) {
    for (int64_t i = 0; i < x.shape[0] * frames * length * parts; ++i) {
      const int64_t part = i % parts, at = i / parts % length, frame = i / (parts * length) % frames,
                    sample = i / (parts * length * frames);
      const T weight = call.has(2) ? call.input(2).as<T>()[static_cast<size_t>(at)] : T{1};
      writable<T>(cut)[static_cast<size_t>(i)] =
          weight * x.as<T>()[static_cast<size_t>((sample * x.shape[1] + frame * step + at) * parts + part)];
    }
    return std::vector{transform<T>(cut, 2, how)};
  });
}

// A sum of cosines: a0 + a1 cos(t) + a2 cos(2t).
struct Window {
  double constant, once, twice;
};
constexpr Window hann{0.5, -0.5, 0}, hamming{25.0 / 46, -21.0 / 46, 0}, blackman{0.42, -0.5, 0.08};

template <const Window& window>
std::vector<Tensor> window_of(const Call& call) {
  const int64_t size = one_number(call, 0, 0);
  const auto type = data_type_of(call.int_of("output_datatype", 1));
  if (!type) call.refuse("its output_datatype is not handled here");
  const auto period = static_cast<double>(call.int_of("periodic", 1) != 0 ? size : size - 1);
  Tensor y = make_tensor(DataType::f64, {size});
  for (int64_t i = 0; i < size; ++i) {
    const double turn = 2 * std::numbers::pi * static_cast<double>(i) / period;
    writable<double>(y)[static_cast<size_t>(i)] = window.constant + window.once * std::cos(turn) + window.twice * std::cos(2 * turn);
  }
  return {converted(y, *type)};
}

double number_of(const Call& call, size_t input) {
  const Tensor wide = converted(call.input(input), DataType::f64);
  if (product_of(wide.shape) != 1) call.fail(fmt::format("input {} is not one number", input));
  return wide.as<double>()[0];
}

// Triangles over the bins of a spectrum, equally far apart on the mel scale.
std::vector<Tensor> mel_weight_matrix(const Call& call) {
  const int64_t bands = one_number(call, 0, 0), length = one_number(call, 1, 1), rate = one_number(call, 2, 1), bins = length / 2 + 1;
  const auto type = data_type_of(call.int_of("output_datatype", 1));
  if (!type) call.refuse("its output_datatype is not handled here");
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel(number_of(call, 3)), high = mel(number_of(call, 4));
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bands + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (low + static_cast<double>(i) * (high - low) / static_cast<double>(bands + 2)) / 2595) - 1);
    const double bin = std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
    if (!(bin >= 0 && bin < static_cast<double>(bins))) call.fail("its edges lie outside of the spectrum");
    edges.push_back(static_cast<int64_t>(bin));
  }
  Tensor y = make_tensor(DataType::f64, {bins, bands});
  const auto to = writable<double>(y);
  std::fill(to.begin(), to.end(), 0.0);
  for (int64_t band = 0; band < bands; ++band) {
    const int64_t left = edges[static_cast<size_t>(band)], top = edges[static_cast<size_t>(band + 1)],
                  right = edges[static_cast<size_t>(band + 2)];
    const auto at = [&](int64_t bin) -> double& { return to[static_cast<size_t>(bin * bands + band)]; };
    if (top == left) at(top) = 1;
    for (int64_t bin = left; top > left && bin <= top; ++bin) at(bin) = static_cast<double>(bin - left) / static_cast<double>(top - left);
    for (int64_t bin = top; bin < right; ++bin) at(bin) = static_cast<double>(right - bin) / static_cast<double>(right - top);
  }
  return {converted(y, *type)};
}

const bool registered[] = {
    add_operator("BlackmanWindow", window_of<blackman>), add_operator("DFT", widened<dft>),
    add_operator("HammingWindow", window_of<hamming>),   add_operator("HannWindow", window_of<hann>),
    add_operator("MelWeightMatrix", mel_weight_matrix),  add_operator("STFT", widened<stft>),
};

}  // namespace
}  // namespace deepgap
