#include "engine/decoder/decoder_runtime.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace deepgap {
namespace {

constexpr int64_t block = PackedMatrix::quantized_columns, lanes = PackedMatrix::rows_a_group;

// Calls work(begin, end) on the threads, each for an equal part of `count`.
template <typename Work>
void share_out(int64_t count, const Work& work) {
#pragma omp parallel
  {
    const int64_t threads = omp_get_num_threads(), thread = omp_get_thread_num();
    const int64_t begin = count * thread / threads, end = count * (thread + 1) / threads;
    if (begin < end) work(begin, end);
  }
}

// The form that GPT-2 has, by the hyperbolic tangent.
float gelu(float x) {
  constexpr float factor = 0.79788456080286535588F;  // sqrt(2 / pi)
  return 0.5F * x * (1 + std::tanh(factor * x * (1 + 0.044715F * x * x)));
}

void add(const float* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] += from[i];
}

}  // namespace

DecoderRuntime::DecoderRuntime(const DecoderModel& model, const DecoderKernels& kernels, WeightType stored_as)
    : model_(model), shape_(model.shape), style_(*find_decoder_style(model.shape.architecture)), kernels_(kernels), stored_as_(stored_as) {
  make_layers();
  const DecoderWeight* output = model_.find_weight("output.weight");
  scores_of_ = {pack(output != nullptr ? *output : model_.weight("token_embd.weight")), nullptr};
  output_norm_ = norm("output_norm");
}

PackedMatrix DecoderRuntime::pack(const DecoderWeight& weight) {
  const auto* data = weight.data.data.get();
  const int64_t rows = weight.rows, columns = weight.columns;
  WeightType type = weight.type;
  std::vector<std::byte> converted;
  if (type == WeightType::f32 && stored_as_ != type && columns % format_of(stored_as_).block == 0) {
    type = stored_as_;
    const int64_t bytes = row_bytes(type, columns);
    converted.resize(static_cast<size_t>(rows * bytes));
    share_out(rows, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        quantize_row(type, {reinterpret_cast<const float*>(data) + row * columns, static_cast<size_t>(columns)},
                     converted.data() + row * bytes);
    });
    data = converted.data();
  }
  PackedMatrix packed = pack_matrix(type, rows, columns, data);
  weight_bytes_ += packed.bytes();
  numbers_[type] += rows * columns;
  return packed;
}

const float* DecoderRuntime::vector(const std::string& name) {
  const DecoderWeight* weight = model_.find_weight(name);
  if (weight == nullptr) return nullptr;
  vectors_.push_back(std::make_unique<std::vector<float>>(static_cast<size_t>(weight->columns)));
  dequantize_row(weight->type, weight->data.data.get(), *vectors_.back());
  weight_bytes_ += weight->columns * static_cast<int64_t>(sizeof(float));
  return vectors_.back()->data();
}

DecoderRuntime::Norm DecoderRuntime::norm(const std::string& name) { return {vector(name + ".weight"), vector(name + ".bias")}; }

DecoderRuntime::Linear DecoderRuntime::linear(const std::string& name) {
  return {pack(model_.weight(name + ".weight")), vector(name + ".bias")};
}

void DecoderRuntime::make_layers() {
  for (int64_t i = 0; i < shape_.layers; ++i) {
    const std::string prefix = fmt::format("blk.{}.", i);
    Layer layer;
    layer.attention_norm = norm(prefix + "attn_norm");
    layer.feed_forward_norm = norm(prefix + "ffn_norm");
    layer.query_norm = vector(prefix + "attn_q_norm.weight");
    layer.key_norm = vector(prefix + "attn_k_norm.weight");
    if (style_.joined_qkv) {
      layer.qkv.push_back(linear(prefix + "attn_qkv"));
    } else {
      for (const char* part : {"attn_q", "attn_k", "attn_v"}) layer.qkv.push_back(linear(prefix + part));
    }
    layer.output = linear(prefix + "attn_output");
    if (style_.gated) layer.up.push_back(linear(prefix + "ffn_gate"));
    layer.up.push_back(linear(prefix + "ffn_up"));
    layer.down = linear(prefix + "ffn_down");
    layers_.push_back(std::move(layer));
  }
}

void DecoderRuntime::make_rotations() {
  if (style_.learned_positions) return;
  const int64_t pairs = shape_.rope_size / 2, context = cache_->context();
  const DecoderWeight* given = model_.find_weight("rope_freqs.weight");
  std::vector<float> divisors(static_cast<size_t>(pairs), 1);
  if (given != nullptr) dequantize_row(given->type, given->data.data.get(), divisors);
  cosines_.resize(static_cast<size_t>(context * pairs));
  sines_.resize(cosines_.size());
  for (int64_t p = 0; p < context; ++p)
    for (int64_t i = 0; i < pairs; ++i) {
      const double slowing = std::pow(shape_.rope_base, -2.0 * static_cast<double>(i) / static_cast<double>(shape_.rope_size));
      const double angle = static_cast<double>(p) * slowing / static_cast<double>(divisors[static_cast<size_t>(i)]);
      cosines_[static_cast<size_t>(p * pairs + i)] = static_cast<float>(std::cos(angle));
      sines_[static_cast<size_t>(p * pairs + i)] = static_cast<float>(std::sin(angle));
    }
}

void DecoderRuntime::make_cache(int64_t sequences, int64_t context) {
  cache_.reset();  // never two at a time
  cache_.emplace(shape_, sequences, context);
  make_rotations();
  const int64_t queries = shape_.heads * shape_.head_size, keys = shape_.kv_heads * shape_.head_size;
  const auto rows = [](std::vector<float>& values, int64_t columns) { values.resize(static_cast<size_t>(row_limit * columns)); };
  rows(hidden_, shape_.embedding);
  rows(normalized_, shape_.embedding);
  rows(qkv_, queries + 2 * keys);
  rows(attended_, queries);
  rows(inner_, (style_.gated ? 2 : 1) * shape_.feed_forward);
  const int64_t widest = std::max({shape_.embedding, queries, shape_.feed_forward});
  factor_.integers.resize(static_cast<size_t>(row_limit * widest));
  factor_.scales.resize(static_cast<size_t>(row_limit * (widest / block + 1)));
  factor_.sums.resize(factor_.scales.size());
  attention_scores_.assign(static_cast<size_t>(omp_get_max_threads()), {});
  for (auto& scores : attention_scores_) scores.resize(static_cast<size_t>(shape_.heads / shape_.kv_heads * cache_->context() + lanes));
}

void DecoderRuntime::embed(std::span<const DecoderRow> rows) {
  const DecoderWeight& table = model_.weight("token_embd.weight");
  const int64_t size = shape_.embedding, bytes = row_bytes(table.type, size);
  const DecoderWeight* places = style_.learned_positions ? &model_.weight("position_embd.weight") : nullptr;
  std::vector<float> place(static_cast<size_t>(places == nullptr ? 0 : size));
  for (size_t i = 0; i < rows.size(); ++i) {
    float* to = hidden_.data() + static_cast<int64_t>(i) * size;
    dequantize_row(table.type, table.data.data.get() + rows[i].token * bytes, {to, static_cast<size_t>(size)});
    if (places == nullptr) continue;
    dequantize_row(places->type, places->data.data.get() + rows[i].position * row_bytes(places->type, size), place);
    add(place.data(), size, to);
  }
}

void DecoderRuntime::normalize(const Norm& norm, const float* from, int64_t rows, float* to) const {
  const int64_t size = shape_.embedding;
  for (int64_t row = 0; row < rows; ++row, from += size, to += size) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < size; ++i) {
      sum += static_cast<double>(from[i]);
      squares += static_cast<double>(from[i]) * static_cast<double>(from[i]);
    }
    const double mean = style_.layer_norm ? sum / static_cast<double>(size) : 0;
    const double variance = squares / static_cast<double>(size) - mean * mean;
    const auto factor = static_cast<float>(1 / std::sqrt(std::max(variance, 0.0) + shape_.norm_epsilon)), middle = static_cast<float>(mean);
    for (int64_t i = 0; i < size; ++i) to[i] = (from[i] - middle) * factor * norm.weight[i];
    if (norm.bias != nullptr) add(norm.bias, size, to);
  }
}

Activations DecoderRuntime::factor(const float* from, int64_t columns, int64_t rows, bool as_integers) {
  Activations x{columns, from, factor_.integers.data(), factor_.scales.data(), factor_.sums.data()};
  if (!as_integers) return x;
  const int64_t blocks = columns / block;
  const auto quantize = [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      kernels_.quantize(from + row * columns, columns, factor_.integers.data() + row * columns, factor_.scales.data() + row * blocks,
                        factor_.sums.data() + row * blocks);
  };
  constexpr int64_t worth_threads = 8;
  if (rows >= worth_threads) {
    share_out(rows, quantize);
  } else {
    quantize(0, rows);
  }
  return x;
}

void DecoderRuntime::multiply(std::span<const Linear> matrices, const float* from, int64_t rows, float* to) {
  int64_t stride = 0, groups = 0;
  bool as_integers = false;
  for (const Linear& one : matrices) {
    stride += one.matrix.rows;
    groups += one.matrix.groups();
    as_integers = as_integers || one.matrix.multiplies_integers();
  }
  const Activations x = factor(from, matrices.front().matrix.columns, rows, as_integers);
  share_out(groups, [&](int64_t begin, int64_t end) {
    float* out = to;
    for (const Linear& one : matrices) {
      const int64_t count = one.matrix.groups(), first = std::max<int64_t>(begin, 0), last = std::min(end, count);
      if (first < last) kernels_.multiply(one.matrix, x, rows, first, last, out, stride);
      if (one.bias != nullptr && first < last) {
        const int64_t at = first * lanes, wanted = std::min(last * lanes, one.matrix.rows) - at;
        for (int64_t row = 0; row < rows; ++row) add(one.bias + at, wanted, out + row * stride + at);
      }
      begin -= count;
      end -= count;
      out += one.matrix.rows;
    }
  });
}

void DecoderRuntime::rotate(float* head, int64_t position) const {
  const int64_t pairs = shape_.rope_size / 2;
  const float *cosines = cosines_.data() + position * pairs, *sines = sines_.data() + position * pairs;
  const int64_t step = style_.rotates_halves ? 1 : 2, other = style_.rotates_halves ? pairs : 1;
  for (int64_t i = 0; i < pairs; ++i) {
    const float a = head[i * step], b = head[i * step + other];
    head[i * step] = a * cosines[i] - b * sines[i];
    head[i * step + other] = a * sines[i] + b * cosines[i];
  }
}

namespace {

void normalize_head(const float* weight, int64_t size, double epsilon, float* head) {
  if (weight == nullptr) return;
  double squares = 0;
  for (int64_t i = 0; i < size; ++i) squares += static_cast<double>(head[i]) * static_cast<double>(head[i]);
  const auto factor = static_cast<float>(1 / std::sqrt(squares / static_cast<double>(size) + epsilon));
  for (int64_t i = 0; i < size; ++i) head[i] *= factor * weight[i];
}

}  // namespace

// Queries, keys and values stand in qkv_; all rows' keys are written before any row reads them.
void DecoderRuntime::attend(const Layer& layer, int64_t index, std::span<const DecoderRow> rows) {
  const int64_t size = shape_.head_size, shared = shape_.heads / shape_.kv_heads;
  const int64_t queries = shape_.heads * size, keys = shape_.kv_heads * size, stride = queries + 2 * keys;
  const auto count = static_cast<int64_t>(rows.size());
  const float scale = 1 / std::sqrt(static_cast<float>(size));
  share_out(count * shape_.kv_heads, [&](int64_t begin, int64_t end) {
    std::vector<uint16_t> key(static_cast<size_t>(size)), value(static_cast<size_t>(size));
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t row = unit / shape_.kv_heads, head = unit % shape_.kv_heads;
      float* own = qkv_.data() + row * stride;
      float* own_key = own + queries + head * size;
      normalize_head(layer.key_norm, size, shape_.norm_epsilon, own_key);
      if (!style_.learned_positions) rotate(own_key, rows[static_cast<size_t>(row)].position);
      for (int64_t h = head * shared; h < (head + 1) * shared; ++h) {
        float* query = own + h * size;
        normalize_head(layer.query_norm, size, shape_.norm_epsilon, query);
        if (!style_.learned_positions) rotate(query, rows[static_cast<size_t>(row)].position);
        for (int64_t d = 0; d < size; ++d) query[d] *= scale;
      }
      kernels_.to_halves(own_key, size, key.data());
      kernels_.to_halves(own + queries + keys + head * size, size, value.data());
      const DecoderRow& one = rows[static_cast<size_t>(row)];
      cache_->write(one.sequence, index, head, one.position, key.data(), value.data());
    }
  });
  share_out(count * shape_.kv_heads, [&](int64_t begin, int64_t end) {
    float* scores = attention_scores_[static_cast<size_t>(omp_get_thread_num())].data();
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t row = unit / shape_.kv_heads, head = unit % shape_.kv_heads;
      const DecoderRow& one = rows[static_cast<size_t>(row)];
      kernels_.attend(qkv_.data() + row * stride + head * shared * size, shared, size, cache_->head(one.sequence, index, head),
                      one.position + 1, scores, attended_.data() + row * queries + head * shared * size);
    }
  });
}

void DecoderRuntime::feed_forward(const Layer& layer, int64_t rows) {
  const int64_t size = shape_.feed_forward;
  multiply(layer.up, normalized_.data(), rows, inner_.data());
  if (!style_.gated) {
    share_out(rows * size, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) inner_[static_cast<size_t>(i)] = gelu(inner_[static_cast<size_t>(i)]);
    });
  } else {
    for (int64_t row = 0; row < rows; ++row) {
      float* gate = inner_.data() + 2 * row * size;
      kernels_.gate(gate, gate + size, size);
      if (row > 0) std::copy_n(gate, size, inner_.data() + row * size);
    }
  }
  multiply(std::span(&layer.down, 1), inner_.data(), rows, normalized_.data());
}

void DecoderRuntime::score(std::span<const DecoderRow> rows) {
  int64_t wanted = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].wants_scores) continue;
    normalize(output_norm_, hidden_.data() + static_cast<int64_t>(i) * shape_.embedding, 1, normalized_.data() + wanted * shape_.embedding);
    ++wanted;
  }
  if (wanted == 0) return;
  scores_.resize(static_cast<size_t>(wanted * shape_.vocabulary));
  multiply(std::span(&scores_of_, 1), normalized_.data(), wanted, scores_.data());
}

void DecoderRuntime::run(std::span<const DecoderRow> rows) {
  const auto count = static_cast<int64_t>(rows.size());
  if (count == 0 || count > row_limit) throw Error(ErrorKind::internal, fmt::format("native: a step of {} rows", count));
  embed(rows);
  int64_t index = 0;
  for (const Layer& layer : layers_) {
    normalize(layer.attention_norm, hidden_.data(), count, normalized_.data());
    multiply(layer.qkv, normalized_.data(), count, qkv_.data());
    attend(layer, index++, rows);
    multiply(std::span(&layer.output, 1), attended_.data(), count, normalized_.data());
    add(normalized_.data(), count * shape_.embedding, hidden_.data());
    normalize(layer.feed_forward_norm, hidden_.data(), count, normalized_.data());
    feed_forward(layer, count);
    add(normalized_.data(), count * shape_.embedding, hidden_.data());
  }
  score(rows);
}

std::span<const float> DecoderRuntime::scores(size_t n) {
  const auto size = static_cast<size_t>(shape_.vocabulary);
  return std::span(scores_).subspan(n * size, size);
}

int64_t DecoderRuntime::best_token(size_t n) {
  const std::span<const float> all = scores(n);
  return std::max_element(all.begin(), all.end()) - all.begin();
}

std::map<std::string, double> DecoderRuntime::type_shares() const {
  std::map<std::string, int64_t> numbers;
  for (const auto& [type, count] : numbers_) numbers[std::string(format_of(type).name)] = count;
  return shares_of_types(numbers);
}

}  // namespace deepgap
