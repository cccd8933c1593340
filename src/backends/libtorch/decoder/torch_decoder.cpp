#include "backends/libtorch/decoder/torch_decoder.h"

#include "backends/libtorch/torch_failure.h"

#include <ATen/Parallel.h>
#include <ATen/ops/add.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/tensor.h>
#include <c10/core/InferenceMode.h>

#include <cmath>
#include <cstring>

namespace deepgap {
namespace {

void set_threads(int threads) {
  if (at::get_num_threads() != threads) at::set_num_threads(threads);
}

at::Tensor linear(const at::Tensor& x, const TorchWeights& weights) {
  return weights.bias.defined() ? at::linear(x, weights.weight, weights.bias) : at::linear(x, weights.weight);
}

}  // namespace

// One thread: this one's team would slow down that of the thread which runs the steps (cpu_session.cpp says why).
TorchDecoder::TorchDecoder(const DecoderModel& model, const at::TensorOptions& options, int threads)
    : shape_(model.shape), style_(*find_decoder_style(model.shape.architecture)), options_(options), threads_(threads) {
  with_torch_errors("loading the model", [&] {
    const c10::InferenceMode inference;
    set_threads(1);
    weights_ = torch_decoder_weights(model, options);
    make_rotations(model);
  });
}

void TorchDecoder::make_rotations(const DecoderModel& model) {
  if (style_.learned_positions) return;
  const int64_t pairs = shape_.rope_size / 2;
  std::vector<float> divisors(static_cast<size_t>(pairs), 1);
  if (const DecoderWeight* given = model.find_weight("rope_freqs.weight")) dequantize_row(given->type, given->data.data.get(), divisors);
  std::vector<double> frequencies;
  for (int64_t i = 0; i < pairs; ++i)
    frequencies.push_back(std::pow(shape_.rope_base, -2.0 * static_cast<double>(i) / static_cast<double>(shape_.rope_size)) /
                          static_cast<double>(divisors[static_cast<size_t>(i)]));
  frequencies_ = at::tensor(frequencies, at::kDouble).to(options_.device());
}

void TorchDecoder::make_cache(int64_t sequences, int64_t context) {
  with_torch_errors("making the cache of keys and values", [&] {
    const c10::InferenceMode inference;
    set_threads(1);
    attention_.reset();  // never two at a time
    attention_.emplace(shape_, sequences, context, options_);
  });
}

void TorchDecoder::run(std::span<const DecoderRow> rows) {
  with_torch_errors("running the model", [&] {
    const c10::InferenceMode inference;
    set_threads(threads_);
    attention_->begin(rows);
    if (frequencies_.defined()) {
      const at::Tensor angles = at::mul(attention_->positions().unsqueeze(1), frequencies_).unsqueeze(1);
      cosines_ = angles.cos().to(options_);
      sines_ = angles.sin().to(options_);
    }
    at::Tensor x = embed(rows);
    for (size_t i = 0; i < weights_.layers.size(); ++i) {
      x = at::add(x, attend(i, x));
      x = at::add(x, feed_forward(weights_.layers[i], x));
    }
    score(rows, x);
  });
}

at::Tensor TorchDecoder::embed(std::span<const DecoderRow> rows) const {
  std::vector<int64_t> tokens;
  for (const DecoderRow& row : rows) tokens.push_back(row.token);
  at::Tensor x = at::index_select(weights_.tokens, 0, at::tensor(tokens, at::kLong).to(options_.device()));
  if (weights_.positions.defined()) x = at::add(x, at::index_select(weights_.positions, 0, attention_->positions()));
  return x;
}

at::Tensor TorchDecoder::normalized(const at::Tensor& x, const TorchWeights& norm) const {
  const std::vector<int64_t> size{x.size(-1)};
  if (!style_.layer_norm) return at::rms_norm(x, size, norm.weight, shape_.norm_epsilon);
  return at::layer_norm(x, size, norm.weight, norm.bias, shape_.norm_epsilon);
}

at::Tensor TorchDecoder::rotated(const at::Tensor& heads) const {
  if (!frequencies_.defined()) return heads;
  const int64_t size = shape_.rope_size, pairs = size / 2;
  const at::Tensor turned = heads.narrow(-1, 0, size);
  const bool halves = style_.rotates_halves;
  const at::Tensor by_pair = halves ? at::Tensor() : turned.unflatten(-1, {pairs, 2});
  const at::Tensor a = halves ? turned.narrow(-1, 0, pairs) : by_pair.select(-1, 0);
  const at::Tensor b = halves ? turned.narrow(-1, pairs, pairs) : by_pair.select(-1, 1);
  const std::vector<at::Tensor> both{at::sub(at::mul(a, cosines_), at::mul(b, sines_)), at::add(at::mul(a, sines_), at::mul(b, cosines_))};
  const at::Tensor joined = halves ? at::cat(both, -1) : at::stack(both, -1).flatten(-2);
  return size == shape_.head_size ? joined : at::cat({joined, heads.narrow(-1, size, shape_.head_size - size)}, -1);
}

at::Tensor TorchDecoder::attend(size_t index, const at::Tensor& x) {
  const TorchDecoderLayer& layer = weights_.layers[index];
  const at::Tensor in = normalized(x, layer.attention_norm);
  std::vector<at::Tensor> parts;
  for (const TorchWeights& one : layer.qkv) parts.push_back(linear(in, one));
  if (style_.joined_qkv) {
    const int64_t queries = shape_.heads * shape_.head_size, keys = shape_.kv_heads * shape_.head_size;
    parts = parts.front().split_with_sizes({queries, keys, keys}, -1);
  }
  for (at::Tensor& part : parts) part = part.unflatten(-1, {-1, shape_.head_size});
  if (layer.query_norm.defined()) parts[0] = normalized(parts[0], {layer.query_norm, {}});
  if (layer.key_norm.defined()) parts[1] = normalized(parts[1], {layer.key_norm, {}});
  return linear(attention_->attend(index, rotated(parts[0]), rotated(parts[1]), parts[2]), layer.output);
}

at::Tensor TorchDecoder::feed_forward(const TorchDecoderLayer& layer, const at::Tensor& x) const {
  const at::Tensor in = normalized(x, layer.feed_forward_norm);
  const at::Tensor up = linear(in, layer.up);
  return linear(style_.gated ? at::mul(at::silu(linear(in, layer.gate)), up) : at::gelu(up, "tanh"), layer.down);
}

void TorchDecoder::score(std::span<const DecoderRow> rows, const at::Tensor& x) {
  scores_ = at::Tensor();
  on_host_.clear();
  best_.clear();
  std::vector<int64_t> asked;
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].wants_scores) asked.push_back(static_cast<int64_t>(i));
  if (asked.empty()) return;
  const at::Tensor wanted = at::index_select(x, 0, at::tensor(asked, at::kLong).to(options_.device()));
  scores_ = linear(normalized(wanted, weights_.output_norm), weights_.scores);
}

std::span<const float> TorchDecoder::scores(size_t n) {
  const auto width = static_cast<size_t>(shape_.vocabulary);
  if (on_host_.empty()) {
    const at::Tensor floats = with_torch_errors("reading the scores", [&] { return scores_.to(at::kCPU, at::kFloat).contiguous(); });
    on_host_.resize(static_cast<size_t>(floats.numel()));
    std::memcpy(on_host_.data(), floats.const_data_ptr(), floats.nbytes());
  }
  return std::span(on_host_).subspan(n * width, width);
}

// ATen promises the first of several.
int64_t TorchDecoder::best_token(size_t n) {
  if (best_.empty()) {
    const at::Tensor best = with_torch_errors("reading the scores", [&] { return at::argmax(scores_, -1).to(at::kCPU); });
    best_.assign(best.const_data_ptr<int64_t>(), best.const_data_ptr<int64_t>() + best.numel());
  }
  return best_.at(n);
}

std::map<std::string, double> TorchDecoder::type_shares() const {
  const at::ScalarType type = c10::typeMetaToScalarType(options_.dtype());
  return {{type == at::kBFloat16 ? "bf16" : type == at::kHalf ? "fp16" : "fp32", 1.0}};
}

}  // namespace deepgap
