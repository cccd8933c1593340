// The operators of transformers and their relatives besides Attention: RMSNormalization, RotaryEmbedding, TensorScatter, LinearAttention,
// CausalConvWithState, Swish, SwiGLU. Sums run in double precision, in the order of memory.
#include "model/eval/evaluator.h"
#include "model/eval/indexing.h"
#include "model/eval/map_elements.h"
#include "model/eval/widened.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace deepgap {
namespace {

double swish_of(double x, double alpha) { return x / (1 + std::exp(-alpha * x)); }

std::vector<Tensor> swish(const Call& call) {
  const double alpha = call.float_of("alpha", 1);
  return map_floats(
      call, [=]<typename T>(T x) { return static_cast<T>(swish_of(x, alpha)); }, 20);
}

std::vector<Tensor> swi_glu(const Call& call) {
  if (call.input(0).shape != call.input(1).shape || call.input(0).type != call.input(1).type)
    call.fail("its inputs differ in shape or type");
  std::vector<Tensor> gate = swish(call);
  Node product{call.node.name, "Mul", "", {}, {}, {}};
  const Tensor inputs[] = {gate[0], call.input(1)};
  return evaluate_node(call.graph, product, inputs);
}

std::vector<Tensor> rms_normalization(const Call& call) {
  const Tensor& x = call.input(0);
  const auto axis = static_cast<size_t>(call.axis(call.int_of("axis", -1), x.shape.size()));
  const int64_t count = product_of(std::span(x.shape).subspan(axis)), rows = product_of(std::span(x.shape).first(axis));
  const double epsilon = call.float_of("epsilon", 1e-5f);
  Tensor y = make_tensor(x.type, x.shape);
  with_float(call, x.type, [&]<typename T>(T) {
    parallel_for(rows, static_cast<double>(count) * 3, [&](int64_t row) {
      const T* from = x.as<T>().data() + row * count;
      T* to = writable<T>(y).data() + row * count;
      double squares = 0;
      for (int64_t i = 0; i < count; ++i) squares += static_cast<double>(from[i]) * static_cast<double>(from[i]);
      const double gain = 1 / std::sqrt(squares / static_cast<double>(count) + epsilon);
      for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(from[i] * gain);
    });
  });
  Node product{call.node.name, "Mul", "", {}, {}, {}};
  const Tensor inputs[] = {y, call.input(1)};
  std::vector<Tensor> scaled = evaluate_node(call.graph, product, inputs);
  if (scaled[0].shape != x.shape) call.fail("the scale does not broadcast to the input");
  return scaled;
}

// Cosines and sines of one position: a row of the caches, which `position_ids` choose, or which lie in the order of the input.
struct Angles {
  const Call& call;
  std::vector<int64_t> positions;
  int64_t half, length;

  int64_t row(int64_t sample, int64_t at) const {
    const int64_t place = sample * length + at;
    return positions.empty() ? place : index_within(call, positions[static_cast<size_t>(place)], call.input(1).shape[0]);
  }
};

Angles angles_of(const Call& call, int64_t batch, int64_t length, int64_t half) {
  Angles angles{call, {}, half, length};
  if (call.has(3)) {
    angles.positions = call.integers(3);
    if (angles.positions.size() != static_cast<size_t>(batch * length)) call.fail("position_ids are not one for each position");
  }
  const Shape want = call.has(3) ? Shape{call.input(1).shape.empty() ? 0 : call.input(1).shape[0], half} : Shape{batch, length, half};
  for (const size_t i : {1, 2})
    if (call.input(i).shape != want || call.input(i).type != call.input(0).type)
      call.fail(fmt::format("its cache in input {} should have shape [{}]", i, fmt::join(want, ",")));
  return angles;
}

// Pairs of a head's first values are turned by the angle of their position; the rest stays.
std::vector<Tensor> rotary_embedding(const Call& call) {
  const Tensor& x = call.input(0);
  const bool packed = x.shape.size() == 3;
  if (!packed && x.shape.size() != 4) call.fail(fmt::format("its input has rank {}, not 3 or 4", x.shape.size()));
  const int64_t heads = packed ? call.int_of("num_heads", 0) : x.shape[1];
  if (heads < 1 || (packed && x.shape[2] % heads != 0)) call.fail(fmt::format("{} heads", heads));
  const int64_t batch = x.shape[0], length = packed ? x.shape[1] : x.shape[2], size = packed ? x.shape[2] / heads : x.shape[3];
  const int64_t asked = call.int_of("rotary_embedding_dim", 0), turned = asked == 0 ? size : asked;
  if (turned < 0 || turned > size || turned % 2 != 0) call.fail(fmt::format("{} of {} values cannot be turned in pairs", turned, size));
  const int64_t half = turned / 2;
  const bool interleaved = call.int_of("interleaved", 0) != 0;
  const Angles angles = angles_of(call, batch, length, half);
  Tensor y = make_tensor(x.type, x.shape);
  with_float(call, x.type, [&]<typename T>(T) {
    const T *cosines = call.input(1).as<T>().data(), *sines = call.input(2).as<T>().data();
    parallel_for(batch * heads, static_cast<double>(length * size) * 4, [&](int64_t part) {
      const int64_t sample = part / heads, head = part % heads;
      for (int64_t at = 0; at < length; ++at) {
        const int64_t begin = (packed ? (sample * length + at) * heads + head : part * length + at) * size;
        const T* from = x.as<T>().data() + begin;
        T* to = writable<T>(y).data() + begin;
        const int64_t row = half == 0 ? 0 : angles.row(sample, at) * half;
        for (int64_t i = 0; i < half; ++i) {
          const int64_t a = interleaved ? 2 * i : i, b = interleaved ? 2 * i + 1 : half + i;
          const T cosine = cosines[row + i], sine = sines[row + i];
          to[a] = cosine * from[a] - sine * from[b];
          to[b] = sine * from[a] + cosine * from[b];
        }
        std::copy(from + turned, from + size, to + turned);
      }
    });
  });
  return {y};
}

// Writes the update's places along an axis into a copy of the cache, from each sample's index on.
std::vector<Tensor> tensor_scatter(const Call& call) {
  const Tensor &cache = call.input(0), &update = call.input(1);
  const size_t rank = cache.shape.size();
  const auto axis = static_cast<size_t>(call.axis(call.int_of("axis", -2), rank));
  Shape expected = cache.shape;
  if (axis == 0 || update.shape.size() != rank) call.fail("axis is the batch, or the update has another rank");
  expected[axis] = update.shape[axis];
  if (update.shape != expected || update.shape[axis] > cache.shape[axis] || update.type != cache.type)
    call.fail("the update does not fit the cache");
  const std::string mode = call.text_of("mode", "linear");
  if (mode != "linear" && mode != "circular") call.fail("its mode is neither linear nor circular");
  const auto starts = call.has(2) ? call.integers(2) : std::vector<int64_t>(static_cast<size_t>(cache.shape[0]), 0);
  if (starts.size() != static_cast<size_t>(cache.shape[0])) call.fail("write_indices are not one for each sample");
  const int64_t room = cache.shape[axis], count = update.shape[axis];
  const int64_t outer = product_of(std::span(cache.shape).subspan(1, axis - 1));
  const auto bytes = static_cast<size_t>(product_of(std::span(cache.shape).subspan(axis + 1))) * byte_size(cache.type);
  Tensor y = make_tensor(cache.type, cache.shape);
  std::byte* to = writable<std::byte>(y).data();
  if (y.bytes() > 0) std::memcpy(to, cache.data.get(), y.bytes());
  for (int64_t part = 0; part < cache.shape[0] * outer; ++part) {
    const int64_t start = starts[static_cast<size_t>(part / outer)];
    if (start < 0 || start > room || (mode == "linear" && start > room - count))
      call.fail(fmt::format("it writes {} places from {} on, of {}", count, start, room));
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(to + static_cast<size_t>(part * room + (start + i) % room) * bytes,
                  update.data.get() + static_cast<size_t>(part * count + i) * bytes, bytes);
  }
  return {y};
}

const bool registered[] = {
    add_operator("RMSNormalization", widened<rms_normalization>),
    add_operator("RotaryEmbedding", widened<rotary_embedding>),
    add_operator("SwiGLU", widened<swi_glu>),
    add_operator("Swish", widened<swish>),
    add_operator("TensorScatter", tensor_scatter),
};

}  // namespace
}  // namespace deepgap
