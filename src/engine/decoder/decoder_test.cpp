// The decoder's inner loops against plain arithmetic, and the runtime against a decoder written out in double precision.
#include "engine/decoder/decoder_runtime.h"
#include "engine/decoder/kernels.h"
#include "engine/decoder/sampler.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

namespace deepgap {
namespace {

std::vector<float> random_floats(size_t count, uint64_t seed, float size = 1) {
  std::mt19937_64 random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = size * (static_cast<float>(random() >> 40) * 0x1p-23F - 1);
  return values;
}

// Rows of any bits, whose scales are small numbers.
std::vector<std::byte> random_rows(WeightType type, int64_t rows, int64_t columns, uint64_t seed) {
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

struct Quantized {
  std::vector<int8_t> integers;
  std::vector<float> scales, sums;
  Activations of(const std::vector<float>& x, int64_t columns) const {
    return {columns, x.data(), integers.data(), scales.data(), sums.data()};
  }
};

Quantized quantized(const DecoderKernels& kernels, const std::vector<float>& x, int64_t columns) {
  Quantized q{std::vector<int8_t>(x.size()), std::vector<float>(x.size() / 32 + 1), std::vector<float>(x.size() / 32 + 1)};
  for (size_t row = 0; row * static_cast<size_t>(columns) < x.size(); ++row) {
    const size_t at = row * static_cast<size_t>(columns);
    kernels.quantize(x.data() + at, columns, q.integers.data() + at, q.scales.data() + at / 32, q.sums.data() + at / 32);
  }
  return q;
}

// Weights that are read times what the quantized activations stand for, in double precision.
TEST(DecoderKernels, ProductsAreThoseOfTheNumbersThatAreRead) {
  constexpr int64_t rows = 21, columns = 512, tokens = 6;
  const auto x = random_floats(static_cast<size_t>(tokens * columns), 1);
  for (const WeightFormat& format : weight_formats()) {
    const auto data = random_rows(format.type, rows, columns, 7);
    const PackedMatrix matrix = pack_matrix(format.type, rows, columns, data.data());
    for (const DecoderKernels* kernels : all_decoder_kernels()) {
      const Quantized q = quantized(*kernels, x, columns);
      std::vector<float> y(static_cast<size_t>(tokens * (rows + 3)), -7), alone(static_cast<size_t>(rows));
      kernels->multiply(matrix, q.of(x, columns), tokens, 0, matrix.groups(), y.data(), rows + 3);
      std::vector<float> row(static_cast<size_t>(columns));
      for (int64_t r = 0; r < rows; ++r) {
        dequantize_row(format.type, data.data() + r * row_bytes(format.type, columns), row);
        for (int64_t t = 0; t < tokens; ++t) {
          double sum = 0, size = 0;
          for (int64_t c = 0; c < columns; ++c) {
            const auto at = static_cast<size_t>(t * columns + c);
            const double factor =
                matrix.multiplies_integers() ? static_cast<double>(q.scales[at / 32]) * q.integers[at] : static_cast<double>(x[at]);
            sum += static_cast<double>(row[static_cast<size_t>(c)]) * factor;
            size += std::abs(static_cast<double>(row[static_cast<size_t>(c)]) * factor);
          }
          EXPECT_NEAR(y[static_cast<size_t>(t * (rows + 3) + r)], sum, 1e-5 * size)
              << kernels->name << " " << format.name << " " << r << " " << t;
        }
      }
      EXPECT_EQ(y[static_cast<size_t>(rows)], -7) << "written past the last row: " << kernels->name << " " << format.name;
      const std::vector<float> last(x.end() - columns, x.end());
      const Quantized one = quantized(*kernels, last, columns);
      kernels->multiply(matrix, one.of(last, columns), 1, 0, matrix.groups(), alone.data(), rows);
      for (int64_t r = 0; r < rows; ++r)
        EXPECT_EQ(alone[static_cast<size_t>(r)], y[static_cast<size_t>((tokens - 1) * (rows + 3) + r)])
            << kernels->name << " " << format.name;
    }
  }
}

TEST(DecoderKernels, ActivationsAreQuantizedAlike) {
  auto x = random_floats(128, 3, 5);
  std::fill(x.begin() + 32, x.begin() + 64, 0.0F);
  const Quantized plain = quantized(plain_decoder_kernels, x, 128);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(plain.scales[i / 32] * static_cast<float>(plain.integers[i]), x[i], 5.0 / 250);
  for (const DecoderKernels* kernels : all_decoder_kernels()) {
    const Quantized q = quantized(*kernels, x, 128);
    EXPECT_EQ(q.integers, plain.integers) << kernels->name;
    EXPECT_EQ(q.scales, plain.scales) << kernels->name;
    EXPECT_EQ(q.sums, plain.sums) << kernels->name;
  }
}

TEST(DecoderKernels, AttentionAndGatesAgree) {
  for (const int64_t size : {12, 64}) {
    for (const int64_t positions : {1, 9, 40}) {
      constexpr int64_t heads = 5;
      const int64_t room = (positions + 7) / 8 * 8 * size;
      const auto queries = random_floats(static_cast<size_t>(heads * size), 4), numbers = random_floats(static_cast<size_t>(room), 5);
      std::vector<uint16_t> keys(static_cast<size_t>(room)), values(static_cast<size_t>(room));
      plain_decoder_kernels.to_halves(numbers.data(), room, keys.data());
      std::reverse_copy(keys.begin(), keys.end(), values.begin());
      std::vector<float> scores(static_cast<size_t>(heads * (positions + 8))), wanted(static_cast<size_t>(heads * size)), found(wanted);
      plain_decoder_kernels.attend(queries.data(), heads, size, {keys.data(), values.data()}, positions, scores.data(), wanted.data());
      auto gate = random_floats(37, 6, 20), up = random_floats(37, 7);
      auto gated = gate;
      plain_decoder_kernels.gate(gated.data(), up.data(), 37);
      for (const DecoderKernels* kernels : all_decoder_kernels()) {
        kernels->attend(queries.data(), heads, size, {keys.data(), values.data()}, positions, scores.data(), found.data());
        for (size_t i = 0; i < wanted.size(); ++i)
          EXPECT_NEAR(found[i], wanted[i], 1e-5) << kernels->name << " " << size << " " << positions;
        auto own = gate;
        kernels->gate(own.data(), up.data(), 37);
        for (size_t i = 0; i < own.size(); ++i) EXPECT_NEAR(own[i], gated[i], 1e-5) << kernels->name;
        std::vector<uint16_t> halves(static_cast<size_t>(room));
        kernels->to_halves(numbers.data(), room, halves.data());
        EXPECT_EQ(halves, keys) << kernels->name;
      }
    }
  }
}

DecoderModel small_model(const std::string& architecture) {
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
class Written {
 public:
  explicit Written(const DecoderModel& model) : model_(model), shape_(model.shape), style_(*find_decoder_style(shape_.architecture)) {}

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

std::vector<DecoderRow> rows_for(const std::vector<int64_t>& tokens, int64_t sequence, size_t from = 0) {
  std::vector<DecoderRow> rows;
  for (size_t p = from; p < tokens.size(); ++p) rows.push_back({sequence, static_cast<int64_t>(p), tokens[p], p + 1 == tokens.size()});
  return rows;
}

const std::vector<int64_t> first{3, 14, 15, 9, 26, 5, 35, 8, 9, 7}, second{27, 18, 28};

TEST(DecoderRuntime, EveryArchitectureComputesWhatIsWrittenDown) {
  for (const std::string& architecture : decoder_architectures()) {
    const DecoderModel model = small_model(architecture);
    const std::vector<double> wanted = Written(model).scores(first);
    for (const DecoderKernels* kernels : all_decoder_kernels()) {
      DecoderRuntime runtime(model, *kernels, WeightType::f32);
      runtime.make_cache(1, 32);
      runtime.run(rows_for(first, 0));
      for (size_t i = 0; i < wanted.size(); ++i)
        EXPECT_NEAR(runtime.scores(0)[i], wanted[i], 5e-3) << architecture << " " << kernels->name << " " << i;  // the cache is FP16
    }
  }
}

TEST(DecoderRuntime, ASequenceIsTheSameAloneAndInABatchAtOnceAndStepByStep) {
  const DecoderModel model = small_model("llama");
  for (const WeightType type : {WeightType::f32, WeightType::q8_0, WeightType::q4_1}) {
    DecoderRuntime runtime(model, *all_decoder_kernels().back(), type);
    runtime.make_cache(3, 32);
    runtime.run(rows_for(first, 2));
    const std::vector<float> alone(runtime.scores(0).begin(), runtime.scores(0).end());
    runtime.make_cache(3, 32);
    std::vector<DecoderRow> both = rows_for(second, 1);
    const auto others = rows_for({first.begin(), first.end() - 1}, 0);
    both.insert(both.end(), others.begin(), others.end());
    runtime.run(both);
    runtime.run(std::vector<DecoderRow>{{1, 3, 40, true}, {0, static_cast<int64_t>(first.size()) - 1, first.back(), true}});
    EXPECT_EQ(std::vector<float>(runtime.scores(1).begin(), runtime.scores(1).end()), alone) << format_of(type).name;
  }
}

TEST(DecoderRuntime, TellsWhatItHolds) {
  const DecoderModel model = small_model("llama");
  DecoderRuntime runtime(model, plain_decoder_kernels, WeightType::q8_0);
  EXPECT_EQ(runtime.type_shares(), (std::map<std::string, double>{{"q8_0", 1.0}}));
  runtime.make_cache(2, 17);  // rounded up to 24
  EXPECT_EQ(runtime.cache().bytes(), 2 * 24 * kv_bytes_per_token(model.shape));
  EXPECT_THROW(runtime.make_cache(1000, int64_t{1} << 40), Error);
}

TEST(Sampler, GreedyTakesTheFirstOfTheHighest) { EXPECT_EQ(Sampler({}, 1).choose(std::vector<float>{1, 5, 5, 2}), 1); }

TEST(Sampler, DrawsAsOftenAsItsSettingsSay) {
  const std::vector<float> scores{0, std::log(2.0F), std::log(4.0F), std::log(1.0F)};
  std::map<int64_t, int> counts;
  Sampler sampler({.temperature = 1, .seed = 5}, 1);
  for (int i = 0; i < 8000; ++i) ++counts[sampler.choose(scores)];
  EXPECT_NEAR(counts[2], 4000, 250);
  EXPECT_NEAR(counts[1], 2000, 200);
  Sampler two({.temperature = 1, .top_k = 2, .seed = 5}, 1), half({.temperature = 1, .top_p = 0.5, .seed = 5}, 1);
  for (int i = 0; i < 100; ++i) {
    EXPECT_GE(two.choose(scores), 1);
    EXPECT_LE(two.choose(scores), 2);
    EXPECT_EQ(half.choose(scores), 2);
  }
}

TEST(Sampler, TheSeedDecidesAndEachQueryHasItsOwnNumbers) {
  const std::vector<float> scores(1000, 0);
  const auto draws = [&](uint64_t seed, uint64_t stream) {
    Sampler sampler({.temperature = 1, .seed = seed}, stream);
    std::vector<int64_t> all;
    for (int i = 0; i < 5; ++i) all.push_back(sampler.choose(scores));
    return all;
  };
  EXPECT_EQ(draws(1, 1), draws(1, 1));
  EXPECT_NE(draws(1, 1), draws(2, 1));
  EXPECT_NE(draws(1, 1), draws(1, 2));
}

}  // namespace
}  // namespace deepgap
