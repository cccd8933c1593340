// The decoder's inner loops against plain arithmetic, and the runtime against a decoder written out in double precision.
#include "engine/decoder/decoder_runtime.h"
#include "engine/decoder/kernels.h"
#include "model/decoder/score_tokens.h"
#include "model/decoder/written_decoder.h"

#include <deepgap/error.h>

#include <gtest/gtest.h>

#include <cmath>

namespace deepgap {
namespace {

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

const std::vector<int64_t> first{3, 14, 15, 9, 26, 5, 35, 8, 9, 7}, second{27, 18, 28};

TEST(DecoderRuntime, EveryArchitectureComputesWhatIsWrittenDown) {
  for (const std::string& architecture : decoder_architectures()) {
    const DecoderModel model = small_decoder_model(architecture);
    const std::vector<double> wanted = WrittenDecoder(model).scores(first);
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
  const DecoderModel model = small_decoder_model("llama");
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

TEST(DecoderRuntime, ScoresOfATextAreThoseOfItsPrefixesAlsoTheSecondTime) {
  const DecoderModel model = small_decoder_model("llama");
  DecoderRuntime runtime(model, *all_decoder_kernels().back(), WeightType::f32);
  for (const std::vector<int64_t>& tokens : {first, second}) {
    score_tokens(runtime, tokens, 1, [&](size_t position, std::span<const float> scores) {
      const auto wanted = WrittenDecoder(model).scores({tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(position) + 1});
      for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(scores[i], wanted[i], 5e-3) << position << " " << i;
    });
  }
}

TEST(DecoderRuntime, TellsWhatItHolds) {
  const DecoderModel model = small_decoder_model("llama");
  DecoderRuntime runtime(model, plain_decoder_kernels, WeightType::q8_0);
  EXPECT_EQ(runtime.type_shares(), (std::map<std::string, double>{{"q8_0", 1.0}}));
  runtime.make_cache(2, 17);  // rounded up to 24
  EXPECT_EQ(runtime.cache_bytes(), 2 * 24 * kv_bytes_per_token(model.shape));
#ifdef DEEPGAP_SANITIZED
  GTEST_SKIP() << "without a cache that is too large: a sanitizer ends a process that asks for too much";
#endif
  EXPECT_THROW(runtime.make_cache(1000, int64_t{1} << 40), Error);
}

}  // namespace
}  // namespace deepgap
