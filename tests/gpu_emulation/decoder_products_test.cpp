// Products of a decoder's weights, whose text is compiled for the host, beside the numbers that the weights stand for.
#include "decoder_host.h"
#include "guarded_memory.h"
#include "hopper_words.h"

#include "engine/gpu/decoder/device_matrix.h"
#include "engine/gpu/decoder/step_kernels.h"
#include "model/decoder/written_decoder.h"
#include "model/eval/half.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace deepgap::gpu {
namespace {

struct ProductCase {
  WeightType type = WeightType::f16, halves = WeightType::f16;
  int64_t tokens = 1, rows = 40, columns = 256;
  const char* end = "product_store";
  int tiles = 1;
  bool gated() const { return std::string(end) == "product_gated"; }
};

ProductCut cut_of(const ProductCase& one) {
  ProductCut cut = product_cut(one.tokens, one.rows, 132);
  cut.tiles = one.tiles;
  return cut;
}

StepShape shape_of(const ProductCase& one) {
  StepShape shape;
  shape.halves = one.halves == WeightType::bf16 ? Element::bf16 : Element::f16;
  return shape;
}

GuardedMemory kept(const std::vector<std::byte>& bytes) {
  GuardedMemory memory(bytes.size());
  std::copy(bytes.begin(), bytes.end(), memory.begin());
  return memory;
}

float half_number(WeightType type, uint16_t bits) { return type == WeightType::bf16 ? to_float(Bfloat16{bits}) : to_float(Half{bits}); }

// The sum for each row of the weights, of one token, by the numbers as they are read.
std::vector<double> wanted_sums(const ProductCase& one, const std::vector<std::byte>& weights, const uint16_t* token) {
  std::vector<double> sums;
  std::vector<float> row(static_cast<size_t>(one.columns));
  for (int64_t r = 0; r < one.rows; ++r) {
    dequantize_row(one.type, weights.data() + r * row_bytes(one.type, one.columns), row);
    double sum = 0;
    for (size_t c = 0; c < row.size(); ++c) {
      const float held = one.type != WeightType::f32      ? row[c]
                         : one.halves == WeightType::bf16 ? to_float(to_bfloat16(row[c]))
                                                          : to_float(to_half(row[c]));
      sum += static_cast<double>(held) * static_cast<double>(half_number(one.halves, token[c]));
    }
    sums.push_back(sum);
  }
  return sums;
}

double ended(const ProductCase& one, const std::vector<double>& sums, const std::vector<float>& bias, int64_t row, float before) {
  const auto at = [&](int64_t r) { return sums[static_cast<size_t>(r)] + static_cast<double>(bias[static_cast<size_t>(r)]); };
  if (std::string(one.end) == "product_add") return at(row) + static_cast<double>(before);
  if (one.gated()) return at(row) / (1 + std::exp(-at(row))) * at(row + one.rows / 2);
  const double x = at(row);
  return std::string(one.end) == "product_gelu" ? 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) : x;
}

void expect_right(const ProductCase& one, RunDecoderKernel run) {
  const std::vector<std::byte> weights = random_rows(one.type, one.rows, one.columns, 5);
  MatrixRows matrix{one.type, one.columns, one.gated(), {}};
  for (int64_t r = 0; r < one.rows; ++r) matrix.rows.push_back(weights.data() + r * row_bytes(one.type, one.columns));
  const int64_t pitch = padded_columns(one.columns, matrix_format(one.type).bits != 16);
  const PackedNumbers packed = pack_rows(matrix, one.halves, pitch);
  const GuardedMemory numbers = kept(packed.numbers), scales = kept(packed.scales);
  const auto x = random_floats(static_cast<size_t>(one.tokens * pitch), 9);
  GuardedMemory source(x.size() * 2);
  auto* halves = reinterpret_cast<uint16_t*>(source.begin());
  for (size_t i = 0; i < x.size(); ++i) {
    const bool padding = static_cast<int64_t>(i) % pitch >= one.columns;
    halves[i] = padding ? 0 : one.halves == WeightType::bf16 ? to_bfloat16(x[i]).bits : to_half(x[i]).bits;
  }
  const bool activates = one.gated() || std::string(one.end) == "product_gelu";
  const int64_t width = one.gated() ? one.rows / 2 : one.rows, result_pitch = width + 3, bytes = activates ? 2 : 4;
  GuardedMemory result(static_cast<size_t>(one.tokens * result_pitch * bytes));
  std::vector<float> bias = random_floats(static_cast<size_t>(one.rows), 3);
  if (!activates)
    for (int64_t i = 0; i < one.tokens * result_pitch; ++i) reinterpret_cast<float*>(result.begin())[i] = 0.5F;
  const void *n = numbers.begin(), *s = scales.begin(), *from = source.begin(), *b = bias.data(), *norm = nullptr;
  void* to = result.begin();
  int tokens = static_cast<int>(one.tokens), rows = static_cast<int>(one.rows), columns = static_cast<int>(one.columns),
      p = static_cast<int>(pitch), chunks = static_cast<int>(pitch / matrix_format(one.type).chunk()), r = static_cast<int>(result_pitch);
  void* arguments[] = {&n, &s, &from, &to, &b, &norm, &tokens, &rows, &columns, &p, &chunks, &r};
  const int64_t tiles = one.gated() ? (one.rows / 2 + 7) / 8 : (one.rows + tile_rows - 1) / tile_rows;
  const unsigned grid[3] = {static_cast<unsigned>((tiles + one.tiles - 1) / one.tiles), 1, 1};
  const char* wrong = run(grid, product_warps * 32, arguments);
  ASSERT_EQ(wrong, nullptr) << wrong;
  for (int64_t t = 0; t < one.tokens; ++t) {
    const auto sums = wanted_sums(one, weights, halves + t * pitch);
    for (int64_t c = 0; c < width; ++c) {
      const int64_t at = t * result_pitch + c;
      const float found = activates ? half_number(one.halves, reinterpret_cast<uint16_t*>(result.begin())[at])
                                    : reinterpret_cast<float*>(result.begin())[at];
      const double wanted = ended(one, sums, bias, c, 0.5F),
                   allowed = (activates ? (one.halves == WeightType::bf16 ? 8e-3 : 1e-3) : 2e-4) * (std::abs(wanted) + 1);
      ASSERT_NEAR(found, wanted, allowed) << format_of(one.type).name << " " << one.end << " token " << t << " row " << c;
    }
  }
}

void expect_all_right(const std::vector<ProductCase>& cases) {
  std::string text;
  for (size_t i = 0; i < cases.size(); ++i)
    text += decoder_host_text(product_text(cases[i].type, shape_of(cases[i]), cut_of(cases[i])), {cases[i].end}, static_cast<int>(i));
  const HostLibrary library(hopper_host(), text);
  for (size_t i = 0; i < cases.size(); ++i)
    expect_right(cases[i], library.function<RunDecoderKernel>(fmt::format("run_{}_{}", i, cases[i].end)));
}

TEST(EmulatedDecoderProducts, OfHalvesAreRight) {
  expect_all_right({{.type = WeightType::f32},
                    {.type = WeightType::f16, .tokens = 5, .columns = 96, .end = "product_add"},
                    {.type = WeightType::bf16, .halves = WeightType::bf16, .tokens = 20, .end = "product_gated", .tiles = 2},
                    {.type = WeightType::f32, .halves = WeightType::bf16, .tokens = 33, .columns = 32, .end = "product_gelu"}});
}

TEST(EmulatedDecoderProducts, OfQuantizedWeightsAreRight) {
  std::vector<ProductCase> cases;
  for (const WeightFormat& format : weight_formats())
    if (matrix_format(format.type).bits != 16) {
      cases.push_back({.type = format.type, .tokens = 3, .columns = 768});
      cases.push_back({.type = format.type, .halves = WeightType::bf16, .tokens = 12, .columns = 256, .end = "product_gated", .tiles = 2});
    }
  cases.push_back({.type = WeightType::q8_0, .columns = 96});
  cases.push_back({.type = WeightType::q4_0, .columns = 96});
  expect_all_right(cases);
}

}  // namespace
}  // namespace deepgap::gpu
