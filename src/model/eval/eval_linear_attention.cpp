// Operators that carry a state from step to step (opset 27): LinearAttention and CausalConvWithState. In double precision, step by step.
#include "model/eval/element_types.h"
#include "model/eval/parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

std::vector<double> numbers(const Call& call, size_t input) {
  const Tensor wide = converted(call.input(input), DataType::f64);
  return {wide.as<double>().begin(), wide.as<double>().end()};
}

// Sizes of queries, keys and values, which pack their heads into the last axis.
struct Packed {
  int64_t batch, length, query_heads, heads, key_size, value_size;
};

Packed packed_of(const Call& call) {
  const Shape &q = call.input(0).shape, &k = call.input(1).shape, &v = call.input(2).shape;
  const int64_t query_heads = call.int_of("q_num_heads", 0), heads = call.int_of("kv_num_heads", 0);
  if (heads < 1 || query_heads < 1 || query_heads % heads != 0)
    call.fail(fmt::format("{} heads of queries, {} of keys", query_heads, heads));
  const bool fits = q.size() == 3 && k.size() == 3 && v.size() == 3 && q[2] % query_heads == 0 && v[2] % heads == 0 &&
                    k == Shape{q[0], q[1], q[2] / query_heads * heads} && v[0] == q[0] && v[1] == q[1];
  if (!fits) call.fail("queries, keys and values do not fit together");
  return {q[0], q[1], query_heads, heads, q[2] / query_heads, v[2] / heads};
}

// One of the optional inputs of the recurrence, seen as [batch, length, heads, per_head].
struct Gate {
  std::vector<double> values;
  int64_t width = 0;  // size of the last axis
  double at(const Packed& sizes, int64_t sample, int64_t step, int64_t head, int64_t k) const {
    const int64_t row = (sample * sizes.length + step) * width;
    if (width == 1) return values[static_cast<size_t>(row)];
    return values[static_cast<size_t>(width == sizes.heads ? row + head : row + head * sizes.key_size + k)];
  }
};

Gate gate_of(const Call& call, size_t input, const Packed& sizes, std::initializer_list<int64_t> widths) {
  const Shape& shape = call.input(input).shape;
  if (shape.size() != 3 || shape[0] != sizes.batch || shape[1] != sizes.length ||
      std::find(widths.begin(), widths.end(), shape[2]) == widths.end())
    call.fail(fmt::format("input {} has shape [{}]", input, fmt::join(shape, ",")));
  return {numbers(call, input), shape[2]};
}

struct Recurrence {
  Packed sizes;
  double scale;
  std::vector<double> q, k, v;
  std::optional<Gate> decay, beta;

  // All steps of one head's state, [key_size][value_size]; the heads of queries that share it read it after each.
  void run(int64_t sample, int64_t head, double* state, std::vector<double>& y) const {
    const auto [batch, length, query_heads, heads, key_size, value_size] = sizes;
    std::vector<double> written(static_cast<size_t>(value_size));
    for (int64_t step = 0; step < length; ++step) {
      const double* key = k.data() + ((sample * length + step) * heads + head) * key_size;
      const double* value = v.data() + ((sample * length + step) * heads + head) * value_size;
      for (int64_t i = 0; decay && i < key_size; ++i)
        for (int64_t j = 0; j < value_size; ++j) state[i * value_size + j] *= std::exp(decay->at(sizes, sample, step, head, i));
      for (int64_t j = 0; j < value_size; ++j) {
        double retrieved = 0;
        for (int64_t i = 0; beta && i < key_size; ++i) retrieved += state[i * value_size + j] * key[i];
        written[static_cast<size_t>(j)] = beta ? beta->at(sizes, sample, step, head, 0) * (value[j] - retrieved) : value[j];
      }
      for (int64_t i = 0; i < key_size; ++i)
        for (int64_t j = 0; j < value_size; ++j) state[i * value_size + j] += key[i] * written[static_cast<size_t>(j)];
      const int64_t group = query_heads / heads;
      for (int64_t h = head * group; h < (head + 1) * group; ++h) {
        const double* query = q.data() + ((sample * length + step) * query_heads + h) * key_size;
        double* to = y.data() + ((sample * length + step) * query_heads + h) * value_size;
        for (int64_t j = 0; j < value_size; ++j) {
          double sum = 0;
          for (int64_t i = 0; i < key_size; ++i) sum += query[i] * state[i * value_size + j];
          to[j] = scale * sum;
        }
      }
    }
  }
};

Tensor rounded(const std::vector<double>& values, Shape shape, DataType type) {
  Tensor wide = make_tensor(DataType::f64, std::move(shape));
  std::copy(values.begin(), values.end(), writable<double>(wide).begin());
  return converted(wide, type);
}

std::vector<Tensor> linear_attention(const Call& call) {
  const Packed sizes = packed_of(call);
  const std::string rule = call.text_of("update_rule", "gated_delta");
  const bool gated = rule == "gated" || rule == "gated_delta", delta = rule == "delta" || rule == "gated_delta";
  if (!gated && !delta && rule != "linear") call.fail("its update_rule is not one of linear, gated, delta, gated_delta");
  if (call.has(4) != gated || call.has(5) != delta) call.fail("decay and beta do not go with its update_rule");
  const double asked = call.float_of("scale", 0);
  Recurrence recurrence{sizes,
                        asked != 0 ? asked : 1 / std::sqrt(static_cast<double>(sizes.key_size)),
                        numbers(call, 0),
                        numbers(call, 1),
                        numbers(call, 2),
                        {},
                        {}};
  if (gated) recurrence.decay = gate_of(call, 4, sizes, {sizes.heads, sizes.heads * sizes.key_size});
  if (delta) recurrence.beta = gate_of(call, 5, sizes, {sizes.heads, 1});
  const Shape state_shape{sizes.batch, sizes.heads, sizes.key_size, sizes.value_size};
  std::vector<double> state(static_cast<size_t>(product_of(state_shape)), 0.0);
  if (call.has(3)) {
    if (call.input(3).shape != state_shape) call.fail(fmt::format("its state should have shape [{}]", fmt::join(state_shape, ",")));
    state = numbers(call, 3);
  }
  const Shape shape{sizes.batch, sizes.length, sizes.query_heads * sizes.value_size};
  std::vector<double> y(static_cast<size_t>(product_of(shape)));
  const int64_t elements = sizes.key_size * sizes.value_size;
  parallel_for(sizes.batch * sizes.heads, static_cast<double>(sizes.length * elements) * 8,
               [&](int64_t part) { recurrence.run(part / sizes.heads, part % sizes.heads, state.data() + part * elements, y); });
  const DataType type = call.input(0).type;
  return {rounded(y, shape, type), rounded(state, state_shape, call.has(3) ? call.input(3).type : type)};
}

// Each channel's own window over what came before: the state holds the last inputs.
std::vector<Tensor> causal_conv_with_state(const Call& call) {
  const Tensor &x = call.input(0), &weight = call.input(1);
  if (x.shape.size() != 3 || weight.shape.size() != 3 || weight.shape[0] != x.shape[1] || weight.shape[1] != 1 || weight.shape[2] < 1)
    call.fail("input and weight do not fit together");
  const int64_t batch = x.shape[0], channels = x.shape[1], length = x.shape[2], taps = weight.shape[2], kept = taps - 1;
  const Shape state_shape{batch, channels, kept};
  if (call.has(2) && call.input(2).shape != Shape{channels}) call.fail("its bias is not one number for each channel");
  if (call.has(3) && call.input(3).shape != state_shape)
    call.fail(fmt::format("its state should have shape [{}]", fmt::join(state_shape, ",")));
  const std::string activation = call.text_of("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish") call.fail("its activation is not one of none, silu, swish");
  const auto from = numbers(call, 0), weights = numbers(call, 1);
  const auto bias = call.has(2) ? numbers(call, 2) : std::vector<double>(static_cast<size_t>(channels), 0.0);
  const auto past = call.has(3) ? numbers(call, 3) : std::vector<double>(static_cast<size_t>(product_of(state_shape)), 0.0);
  std::vector<double> y(from.size()), state(past.size());
  parallel_for(batch * channels, static_cast<double>(length * taps) * 2, [&](int64_t line) {
    const auto at = [&](int64_t i) {
      return i < kept ? past[static_cast<size_t>(line * kept + i)] : from[static_cast<size_t>(line * length + i - kept)];
    };
    const int64_t channel = line % channels;
    for (int64_t i = 0; i < length; ++i) {
      double sum = bias[static_cast<size_t>(channel)];
      for (int64_t tap = 0; tap < taps; ++tap) sum += at(i + tap) * weights[static_cast<size_t>(channel * taps + tap)];
      y[static_cast<size_t>(line * length + i)] = activation == "none" ? sum : sum / (1 + std::exp(-sum));
    }
    for (int64_t i = 0; i < kept; ++i) state[static_cast<size_t>(line * kept + i)] = at(length + i);
  });
  return {rounded(y, x.shape, x.type), rounded(state, state_shape, x.type)};
}

const bool registered[] = {
    add_operator("CausalConvWithState", causal_conv_with_state),
    add_operator("LinearAttention", linear_attention),
};

}  // namespace
}  // namespace deepgap
