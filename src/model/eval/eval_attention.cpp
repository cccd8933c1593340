// Attention (opset 23 on): softmax(Q K' * scale + bias) V with heads, a cache of keys and values, masks and windows. Sums run in double
// precision, in the order of memory.
#include "model/eval/element_types.h"
#include "model/eval/operator.h"
#include "model/eval/parallel.h"
#include "model/eval/strided.h"
#include "model/eval/widened.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace deepgap {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

// [batch, heads, length, size], also of an input that packs heads into its last axis: [batch, length, heads * size].
struct Heads {
  int64_t batch = 0, heads = 0, length = 0, size = 0;
  Shape shape() const { return {batch, heads, length, size}; }
};

Heads heads_of(const Call& call, size_t input, const char* attribute) {
  const Shape& shape = call.input(input).shape;
  if (shape.size() == 4) return {shape[0], shape[1], shape[2], shape[3]};
  if (shape.size() != 3) call.fail(fmt::format("input {} has rank {}, not 3 or 4", input, shape.size()));
  const int64_t heads = call.int_of(attribute, 0);
  if (heads < 1 || shape[2] % heads != 0) call.fail(fmt::format("{} is {} of a size of {}", attribute, heads, shape[2]));
  return {shape[0], heads, shape[1], shape[2] / heads};
}

// Returns the input with the heads before the length, behind what is in the cache.
Tensor with_cache(const Call& call, size_t input, const Heads& heads, size_t cache) {
  const Tensor& x = call.input(input);
  const size_t bytes = byte_size(x.type);
  Heads all = heads;
  if (call.has(cache)) {
    const Tensor& past = call.input(cache);
    if (past.type != x.type) call.fail(fmt::format("inputs {} and {} differ in type", input, cache));
    if (past.shape.size() != 4 || Shape{past.shape[0], past.shape[1], 0, past.shape[3]} != Shape{heads.batch, heads.heads, 0, heads.size})
      call.fail(fmt::format("the cache in input {} does not fit input {}", cache, input));
    all.length += past.shape[2];
  }
  Tensor y = make_tensor(x.type, all.shape());
  std::byte* to = writable<std::byte>(y).data();
  const auto strides = row_major_strides(y.shape);
  const int64_t past = all.length - heads.length;
  if (past > 0)
    copy_strided(call.input(cache).shape, bytes, {call.input(cache).data.get(), row_major_strides(call.input(cache).shape)}, {to, strides});
  std::vector<int64_t> from = row_major_strides(heads.shape());
  if (x.shape.size() == 3) from = {heads.length * heads.heads * heads.size, heads.size, heads.heads * heads.size, 1};
  copy_strided(heads.shape(), bytes, {x.data.get(), from}, {to + static_cast<size_t>(past * heads.size) * bytes, strides});
  return y;
}

// The term added to the score of query i and key j: a mask, and minus infinity where it may not look.
struct Bias {
  const Tensor* mask = nullptr;  // bool, or of the compute type
  std::vector<int64_t> strides;  // over batch, head, query
  int64_t mask_keys = 0;
  bool causal = false;
  int64_t left = -1, right = -1;
  std::vector<int64_t> offsets;  // position of each sample's first query among the keys
  std::vector<int64_t> lengths;  // keys that are not padding; empty: all

  bool sees(int64_t sample, int64_t i, int64_t j) const {
    const int64_t position = i + offsets[static_cast<size_t>(sample)];
    if (causal && j > position) return false;
    if (left >= 0 && j < position - left) return false;
    if (right >= 0 && j > position + right) return false;
    return lengths.empty() || j < lengths[static_cast<size_t>(sample)];
  }
  template <typename T>
  double at(int64_t sample, int64_t head, int64_t i, int64_t j) const {
    if (!sees(sample, i, j)) return minus_infinity;
    if (mask == nullptr) return 0;
    if (j >= mask_keys) return minus_infinity;
    const auto place = static_cast<size_t>(sample * strides[0] + head * strides[1] + i * strides[2] + j);
    if (mask->type == DataType::boolean) return mask->as<uint8_t>()[place] != 0 ? 0 : minus_infinity;
    return static_cast<double>(mask->as<T>()[place]);
  }
};

Bias bias_of(const Call& call, const Heads& q, int64_t keys, int64_t past) {
  Bias bias{.causal = call.int_of("is_causal", 0) != 0,
            .left = call.int_of("left_window_size", -1),
            .right = call.int_of("right_window_size", -1)};
  bias.offsets.assign(static_cast<size_t>(q.batch), past);
  if (call.has(6)) {
    if (past > 0) call.fail("it has both a cache and nonpad_kv_seqlen");
    bias.lengths = call.integers(6);
    if (bias.lengths.size() != static_cast<size_t>(q.batch)) call.fail("nonpad_kv_seqlen is not one number for each sample");
    for (size_t i = 0; i < bias.lengths.size(); ++i) bias.offsets[i] = bias.lengths[i] - q.length;
  }
  if (!call.has(3)) return bias;
  bias.mask = &call.input(3);
  if (bias.mask->type != DataType::boolean && bias.mask->type != call.input(0).type)
    call.fail("the mask is neither bool nor of the queries' type");
  if (bias.mask->shape.empty() || bias.mask->shape.size() > 4 || bias.mask->shape.back() > keys)
    call.fail(fmt::format("the mask has shape [{}]", fmt::join(bias.mask->shape, ",")));
  bias.mask_keys = bias.mask->shape.back();
  const Shape target{q.batch, q.heads, q.length, bias.mask_keys};
  if (broadcast_shape(call, bias.mask->shape, target) != target) call.fail("the mask does not broadcast to the scores");
  bias.strides = broadcast_strides(bias.mask->shape, target);
  return bias;
}

// The processing of one query's scores, and the stage at which they are output.
struct Scores {
  double scale = 1, softcap = 0;
  int64_t shown = 0;
};

void softmax_of(std::vector<double>& scores, const std::vector<double>& bias) {
  const auto is_masked = [](double value) { return value == minus_infinity; };
  // Decided on what was added: a score may be infinite itself.
  if (std::ranges::all_of(bias, is_masked)) {
    std::ranges::fill(scores, 0.0);
    return;
  }
  const double largest = *std::ranges::max_element(scores);
  double sum = 0;
  for (double& score : scores) sum += score = is_masked(score) ? 0 : std::exp(score - largest);
  for (double& score : scores) score /= sum;
}

template <typename T>
std::vector<Tensor> attend(const Call& call, const Heads& q, const Tensor& query, const Tensor& keys, const Tensor& values,
                           const Bias& bias, const Scores& how) {
  const int64_t count = keys.shape[2], value_size = values.shape[3], group = q.heads / keys.shape[1];
  const bool packed = call.input(0).shape.size() == 3;
  Tensor y =
      make_tensor(query.type, packed ? Shape{q.batch, q.length, q.heads * value_size} : Shape{q.batch, q.heads, q.length, value_size});
  Tensor shown = make_tensor(query.type, {q.batch, q.heads, q.length, count});
  parallel_for(q.batch * q.heads, static_cast<double>(q.length * count * (q.size + value_size)) * 2, [&](int64_t part) {
    const int64_t sample = part / q.heads, head = part % q.heads, shared = sample * keys.shape[1] + head / group;
    std::vector<double> scores(static_cast<size_t>(count)), added(static_cast<size_t>(count));
    for (int64_t i = 0; i < q.length; ++i) {
      const T* a = query.as<T>().data() + (part * q.length + i) * q.size;
      T* show = writable<T>(shown).data() + (part * q.length + i) * count;
      const auto show_if = [&](int64_t when) {
        if (how.shown == when) std::ranges::transform(scores, show, [](double score) { return static_cast<T>(score); });
      };
      for (int64_t j = 0; j < count; ++j) {
        const T* b = keys.as<T>().data() + (shared * count + j) * q.size;
        double sum = 0;
        for (int64_t k = 0; k < q.size; ++k) sum += static_cast<double>(a[k]) * static_cast<double>(b[k]);
        scores[static_cast<size_t>(j)] = sum * how.scale;
        added[static_cast<size_t>(j)] = bias.template at<T>(sample, head, i, j);
      }
      show_if(0);
      if (how.softcap > 0)
        for (double& score : scores) score = how.softcap * std::tanh(score / how.softcap);
      show_if(1);
      std::ranges::transform(scores, added, scores.begin(), std::plus<>());
      show_if(2);
      softmax_of(scores, added);
      show_if(3);
      T* to = writable<T>(y).data() + (packed ? (sample * q.length + i) * q.heads + head : part * q.length + i) * value_size;
      for (int64_t k = 0; k < value_size; ++k) {
        double sum = 0;
        for (int64_t j = 0; j < count; ++j)
          if (scores[static_cast<size_t>(j)] != 0)
            sum += scores[static_cast<size_t>(j)] *
                   static_cast<double>(values.as<T>()[static_cast<size_t>((shared * count + j) * value_size + k)]);
        to[k] = static_cast<T>(sum);
      }
    }
  });
  return {y, keys, values, shown};
}

std::vector<Tensor> attention(const Call& call) {
  const Heads q = heads_of(call, 0, "q_num_heads"), k = heads_of(call, 1, "kv_num_heads"), v = heads_of(call, 2, "kv_num_heads");
  if (k.batch != q.batch || v.batch != q.batch || k.heads != v.heads || k.length != v.length || k.size != q.size || k.heads < 1 ||
      q.heads % k.heads != 0)
    call.fail("queries, keys and values do not fit together");
  if (call.has(4) != call.has(5)) call.fail("it has a cache of keys or of values alone");
  for (const size_t i : {1, 2})
    if (call.input(i).type != call.input(0).type) call.refuse("queries, keys and values of different types are not handled here");
  const Tensor query = with_cache(call, 0, q, SIZE_MAX), keys = with_cache(call, 1, k, 4), values = with_cache(call, 2, v, 5);
  if (keys.shape[2] != values.shape[2]) call.fail("the caches of keys and values differ in length");
  const Bias bias = bias_of(call, q, keys.shape[2], keys.shape[2] - k.length);
  const double scale = call.node.attributes.contains("scale") ? call.float_of("scale", 0) : 1 / std::sqrt(static_cast<double>(q.size));
  const Scores how{scale, call.float_of("softcap", 0), call.int_of("qk_matmul_output_mode", 0)};
  if (how.shown < 0 || how.shown > 3) call.fail(fmt::format("qk_matmul_output_mode is {}", how.shown));
  return with_float(call, query.type, [&]<typename T>(T) { return attend<T>(call, q, query, keys, values, bias, how); });
}

const bool registered = add_operator("Attention", widened<attention>);

}  // namespace
}  // namespace deepgap
