// For tests of what computes decoders: a small network, and the same in double precision as a person would write it down.
#pragma once

#include "model/decoder/decoder.h"
#include "model/decoder/decoder_steps.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace deepgap {

inline std::vector<float> random_floats(size_t count, uint64_t seed, float size = 1) {
  std::mt19937_64 random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = size * (static_cast<float>(random() >> 40) * 0x1p-23F - 1);
  return values;
}

// Rows of any bits, whose scales are small numbers.
inline std::vector<std::byte> random_rows(WeightType type, int64_t rows, int64_t columns, uint64_t seed) {
  const auto values = random_floats(static_cast<size_t>(rows * columns), seed);
  std::vector<std::byte> data(static_cast<size_t>(rows * row_bytes(type, columns)));
  if (type != WeightType::q4_k && type != WeightType::q6_k) {
    for (int64_t row = 0; row < rows; ++row)
      quantize_row(type, std::span(values).subspan(static_cast<size_t>(row * columns), static_cast<size_t>(columns)),
                   data.data() + row * row_bytes(type, columns));
    return data;
  }
  std::mt19937_64 random(seed);
  for (std::byte& byte : data) byte = static_cast<std::byte>(random());
  const WeightFormat& format = format_of(type);
  for (size_t at = 0; at < data.size(); at += static_cast<size_t>(format.block_bytes)) {
    const uint16_t half = static_cast<uint16_t>(0x1c00 + random() % 0x400);
    std::memcpy(data.data() + at + (type == WeightType::q6_k ? 208 : 0), &half, sizeof half);
    if (type == WeightType::q4_k) std::memcpy(data.data() + at + 2, &half, sizeof half);
  }
  return data;
}

inline DecoderModel small_decoder_model(const std::string& architecture) {
  DecoderModel model;
  model.shape = {architecture, 2, 32, 64, 4, architecture == "gpt2" ? 4 : 2, 8, 8, 64, 50, 1e-5, 10000};
  uint64_t seed = 1;
  for (const DecoderWeightSpec& spec : decoder_weights(model.shape)) {
    if (spec.name == "rope_freqs.weight") continue;
    const auto values = random_floats(static_cast<size_t>(spec.rows * spec.columns), ++seed, 0.4F);
    Tensor tensor = make_tensor(DataType::f32, spec.is_vector ? Shape{spec.columns} : Shape{spec.rows, spec.columns});
    std::copy(values.begin(), values.end(), writable<float>(tensor).begin());
    model.weights[spec.name] = {WeightType::f32, spec.rows, spec.columns, tensor};
  }
  return model;
}

// The same network as a person would write it down.
class WrittenDecoder {
 public:
  explicit WrittenDecoder(const DecoderModel& model)
      : model_(model), shape_(model.shape), style_(*find_decoder_style(shape_.architecture)) {}

  std::vector<double> scores(const std::vector<int64_t>& tokens) {
    std::vector<std::vector<double>> x;
    for (size_t p = 0; p < tokens.size(); ++p) {
      x.push_back(row("token_embd.weight", tokens[p]));
      if (style_.learned_positions) add(row("position_embd.weight", static_cast<int64_t>(p)), x.back());
    }
    for (int64_t i = 0; i < shape_.layers; ++i) layer("blk." + std::to_string(i) + ".", x);
    return times("output", norm("output_norm", x.back()));
  }

 private:
  using Row = std::vector<double>;
  const float* data(const std::string& name) const {
    const DecoderWeight* weight = model_.find_weight(name);
    return weight == nullptr ? nullptr : weight->data.as<float>().data();
  }
  Row row(const std::string& name, int64_t index) const {
    const int64_t columns = model_.weight(name).columns;
    return {data(name) + index * columns, data(name) + (index + 1) * columns};
  }
  static void add(const Row& from, Row& to) {
    for (size_t i = 0; i < to.size(); ++i) to[i] += from[i];
  }
  Row times(const std::string& name, const Row& x) const {
    const DecoderWeight& weight = model_.weight(name + ".weight");
    Row y(static_cast<size_t>(weight.rows), 0);
    for (int64_t r = 0; r < weight.rows; ++r)
      y[static_cast<size_t>(r)] = std::inner_product(x.begin(), x.end(), data(name + ".weight") + r * weight.columns, 0.0);
    if (const float* bias = data(name + ".bias")) add(Row(bias, bias + weight.rows), y);
    return y;
  }
  Row norm(const std::string& name, const Row& x) const {
    const auto count = static_cast<double>(x.size());
    const double mean = style_.layer_norm ? std::accumulate(x.begin(), x.end(), 0.0) / count : 0;
    double variance = 0;
    for (const double value : x) variance += (value - mean) * (value - mean) / count;
    Row y;
    for (size_t i = 0; i < x.size(); ++i) {
      y.push_back((x[i] - mean) / std::sqrt(variance + shape_.norm_epsilon) * data(name + ".weight")[i]);
      if (const float* bias = data(name + ".bias")) y[i] += bias[i];
    }
    return y;
  }
  // A head of `all`, turned by its position.
  Row head(const Row& all, int64_t first, size_t position, const std::string& norm_name) const {
    const auto size = static_cast<size_t>(shape_.head_size), half = size / 2;
    Row x(all.begin() + first, all.begin() + first + shape_.head_size);
    if (style_.normalizes_heads) x = norm(norm_name, x);
    if (style_.learned_positions) return x;
    Row y = x;
    for (size_t i = 0; i < half; ++i) {
      const double angle =
          static_cast<double>(position) * std::pow(shape_.rope_base, -2.0 * static_cast<double>(i) / static_cast<double>(size));
      const size_t a = style_.rotates_halves ? i : 2 * i, b = style_.rotates_halves ? i + half : 2 * i + 1;
      y[a] = x[a] * std::cos(angle) - x[b] * std::sin(angle);
      y[b] = x[a] * std::sin(angle) + x[b] * std::cos(angle);
    }
    return y;
  }
  void layer(const std::string& name, std::vector<Row>& x) const {
    const int64_t size = shape_.head_size, queries = shape_.heads * size, keys = shape_.kv_heads * size;
    std::vector<Row> all;
    for (const Row& one : x) {
      const Row normed = norm(name + "attn_norm", one);
      Row qkv;
      for (const char* part : {"attn_q", "attn_k", "attn_v", "attn_qkv"}) {
        if (model_.find_weight(name + part + ".weight") == nullptr) continue;
        const Row y = times(name + part, normed);
        qkv.insert(qkv.end(), y.begin(), y.end());
      }
      all.push_back(qkv);
    }
    for (size_t p = 0; p < x.size(); ++p) {
      Row attended;
      for (int64_t h = 0; h < shape_.heads; ++h) {
        const int64_t kv = h / (shape_.heads / shape_.kv_heads);
        const Row query = head(all[p], h * size, p, name + "attn_q_norm");
        Row weights;
        double sum = 0;
        for (size_t other = 0; other <= p; ++other) {
          const Row key = head(all[other], queries + kv * size, other, name + "attn_k_norm");
          weights.push_back(
              std::exp(std::inner_product(query.begin(), query.end(), key.begin(), 0.0) / std::sqrt(static_cast<double>(size))));
          sum += weights.back();
        }
        for (int64_t d = 0; d < size; ++d) {
          double value = 0;
          for (size_t other = 0; other <= p; ++other)
            value += weights[other] / sum * all[other][static_cast<size_t>(queries + keys + kv * size + d)];
          attended.push_back(value);
        }
      }
      add(times(name + "attn_output", attended), x[p]);
      const Row normed = norm(name + "ffn_norm", x[p]);
      Row inner = times(name + "ffn_up", normed);
      const Row gate = style_.gated ? times(name + "ffn_gate", normed) : Row();
      for (size_t i = 0; i < inner.size(); ++i)
        inner[i] = style_.gated
                       ? inner[i] * gate[i] / (1 + std::exp(-gate[i]))
                       : 0.5 * inner[i] * (1 + std::tanh(std::sqrt(2 / M_PI) * (inner[i] + 0.044715 * inner[i] * inner[i] * inner[i])));
      add(times(name + "ffn_down", inner), x[p]);
    }
  }

  const DecoderModel& model_;
  const DecoderShape& shape_;
  const DecoderStyle& style_;
};

inline std::vector<DecoderRow> rows_for(const std::vector<int64_t>& tokens, int64_t sequence, size_t from = 0) {
  std::vector<DecoderRow> rows;
  for (size_t p = from; p < tokens.size(); ++p) rows.push_back({sequence, static_cast<int64_t>(p), tokens[p], p + 1 == tokens.size()});
  return rows;
}

}  // namespace deepgap
