// Attention and what stands around it; losses.
#include "model/shape_rules.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

void same_shape(ShapeContext& context) { context.set(0, context.type(0), context.dims(0)); }

// Sizes of an input [batch, heads, length, size], or [batch, length, heads * size] with the number of heads in an attribute.
struct Heads {
  Dim batch, heads, length, size;
};

std::optional<Heads> heads_of(ShapeContext& context, size_t input, const char* attribute) {
  const auto& dims = context.dims(input);
  if (!dims) return std::nullopt;
  if (dims->size() == 4) return Heads{(*dims)[0], (*dims)[1], (*dims)[2], (*dims)[3]};
  const int64_t heads = context.int_of(attribute, 0);
  if (dims->size() != 3 || heads < 1)
    context.fail(fmt::format("input {} has shape {}, {} is {}", input, to_string(*dims), attribute, heads));
  const auto size = divide((*dims)[2], heads);
  if (!size) context.fail(fmt::format("input {} has shape {}, which {} heads do not divide", input, to_string(*dims), heads));
  return Heads{(*dims)[0], fixed_dim(heads), (*dims)[1], *size};
}

// Returns the shape of the keys or values together with what the cache holds.
std::optional<Dims> cached(ShapeContext& context, const std::optional<Heads>& heads, size_t cache, size_t output) {
  if (!heads) return std::nullopt;
  Dims all{heads->batch, heads->heads, heads->length, heads->size};
  if (!context.has(cache)) return all;
  const auto& past = context.dims(cache);
  if (past && past->size() != 4) context.fail(fmt::format("its cache has shape {}", to_string(*past)));
  const auto length = past ? add((*past)[2], heads->length) : std::nullopt;
  all[2] = length.value_or(context.unknown(output, 2));
  return all;
}

void attention(ShapeContext& context) {
  const auto q = heads_of(context, 0, "q_num_heads");
  const auto keys = cached(context, heads_of(context, 1, "kv_num_heads"), 4, 1);
  const auto values = cached(context, heads_of(context, 2, "kv_num_heads"), 5, 2);
  context.set(1, context.type(1), keys);
  context.set(2, context.type(2), values);
  std::optional<Dims> out, scores;
  if (q && values) {
    out = Dims{q->batch, q->heads, q->length, (*values)[3]};
    if (context.dims(0)->size() == 3) out = Dims{q->batch, q->length, multiply(q->heads, (*values)[3]).value_or(context.unknown(0, 2))};
  }
  if (q && keys) scores = Dims{q->batch, q->heads, q->length, (*keys)[2]};
  context.set(0, context.type(0), std::move(out));
  context.set(3, context.type(0), std::move(scores));
}

void linear_attention(ShapeContext& context) {
  const auto q = heads_of(context, 0, "q_num_heads"), k = heads_of(context, 1, "kv_num_heads"), v = heads_of(context, 2, "kv_num_heads");
  std::optional<Dims> out, state;
  if (q && v) out = Dims{q->batch, q->length, multiply(q->heads, v->size).value_or(context.unknown(0, 2))};
  if (k && v) state = Dims{k->batch, k->heads, k->size, v->size};
  context.set(0, context.type(0), std::move(out));
  context.set(1, context.has(3) ? context.type(3) : context.type(0), std::move(state));
}

void causal_conv_with_state(ShapeContext& context) {
  same_shape(context);
  const auto &x = context.dims(0), &weight = context.dims(1);
  std::optional<Dims> state;
  if (x && weight) {
    if (x->size() != 3 || weight->size() != 3)
      context.fail(fmt::format("input {} and weight {} do not go together", to_string(*x), to_string(*weight)));
    const Dim& taps = (*weight)[2];
    if (taps.known() && taps.size < 1) context.fail("its weight has no taps");
    state = Dims{(*x)[0], (*x)[1], taps.known() ? fixed_dim(taps.size - 1) : context.unknown(1, 2)};
  }
  context.set(1, context.type(0), std::move(state));
}

// One number, or without a reduction one for each place.
void loss(ShapeContext& context) {
  const bool each = context.text_of("reduction", "mean") == "none";
  context.set(0, context.type(0), each ? context.dims(1) : Dims{});
  context.set(1, context.type(0), context.dims(0));
}

const bool registered = add_shape_rules({{"Attention", attention},
                                         {"CausalConvWithState", causal_conv_with_state},
                                         {"LinearAttention", linear_attention},
                                         {"NegativeLogLikelihoodLoss", loss},
                                         {"RMSNormalization", same_shape},
                                         {"RotaryEmbedding", same_shape},
                                         {"SoftmaxCrossEntropyLoss", loss},
                                         {"SwiGLU", same_shape},
                                         {"Swish", same_shape},
                                         {"TensorScatter", same_shape}});

}  // namespace
}  // namespace deepgap
