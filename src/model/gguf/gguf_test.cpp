#include "model/gguf/gguf.h"

#include "model/decoder/decoder.h"
#include "model/decoder/gguf_decoder.h"
#include "model/gguf/gguf_test_file.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>

#include <cmath>

namespace deepgap {
namespace {

using test_files::as_file;
using test_files::GgufWriter;
using test_files::tiny_llama;
using ::testing::HasSubstr;

Graph decoder_in(const std::string& content) { return gguf_decoder(parse_gguf(as_file(content), "x.gguf")); }

// Returns why the file is refused: one line that names it.
std::string refusal(const std::string& content, ErrorKind kind = ErrorKind::input) {
  try {
    decoder_in(content);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    const std::string what = error.what();
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    EXPECT_THAT(what, ::testing::StartsWith("x.gguf: "));
    return what;
  }
  return "accepted";
}

TEST(Gguf, ReadsMetadataAndTensors) {
  GgufWriter writer;
  writer.text("a", "b")
      .number("n", 7)
      .real("r", 0.5F)
      .texts("l", {"x", "yz"})
      .tensor("t", {2, 3}, 0, test_files::floats({1, 2, 3, 4, 5, 6}));
  for (const uint32_t version : {2U, 3U}) {
    const GgufFile file = parse_gguf(as_file(writer.content(version)), "x.gguf");
    EXPECT_EQ(*file.find<std::string>("a"), "b");
    EXPECT_EQ(*file.find<int64_t>("n"), 7);
    EXPECT_EQ(*file.find<double>("r"), 0.5);
    EXPECT_EQ(*file.find<std::vector<std::string>>("l"), (std::vector<std::string>{"x", "yz"}));
    EXPECT_EQ(file.find<int64_t>("a"), nullptr);
    const GgufTensor& tensor = file.tensors.at("t");
    EXPECT_EQ(tensor.shape, (std::vector<int64_t>{2, 3}));
    float last = 0;
    std::memcpy(&last, tensor.data.get() + 20, sizeof last);
    EXPECT_EQ(last, 6);
  }
}

TEST(Gguf, ADecoderComesOutOfIt) {
  const DecoderModel model = decoder_of(decoder_in(tiny_llama().content()));
  EXPECT_EQ(model.shape.heads, 2);
  EXPECT_EQ(model.shape.head_size, 4);
  EXPECT_EQ(model.shape.vocabulary, 8);
  EXPECT_EQ(model.weight("blk.0.ffn_down.weight").columns, 12);
  EXPECT_EQ(model.find_weight("output.weight"), nullptr);
}

TEST(Gguf, WhatIsTornAnywhereIsRefused) {
  const std::string whole = tiny_llama().content();
  for (size_t size = 0; size + 32 < whole.size(); ++size) EXPECT_NE(refusal(whole.substr(0, size)), "accepted") << size;
}

TEST(Gguf, HostileNumbersAreRefused) {
  const auto bytes = [](auto value) { return GgufWriter::bytes(value); };
  const std::string begin = "GGUF" + bytes(uint32_t{3});
  EXPECT_THAT(refusal(begin + bytes(uint64_t{1} << 60) + bytes(uint64_t{0})), HasSubstr("too short"));
  EXPECT_THAT(refusal(begin + bytes(uint64_t{0}) + bytes(UINT64_MAX)), HasSubstr("too short"));
  const std::string one = begin + bytes(uint64_t{0}) + bytes(uint64_t{1});
  EXPECT_THAT(refusal(one + bytes(UINT64_MAX) + "key" + std::string(64, '\0')), HasSubstr("ends in the middle"));
  EXPECT_THAT(
      refusal(one + GgufWriter::string("k") + bytes(uint32_t{9}) + bytes(uint32_t{8}) + bytes(uint64_t{1} << 61) + std::string(32, 'x')),
      HasSubstr("too short"));
  EXPECT_THAT(refusal(one + GgufWriter::string("k") + bytes(uint32_t{9}) + bytes(uint32_t{9}) + bytes(uint64_t{1}) + std::string(32, 'x')),
              HasSubstr("unknown kind"));
  EXPECT_THAT(refusal(one + GgufWriter::string("k") + bytes(uint32_t{77}) + std::string(32, 'x')), HasSubstr("unknown kind"));
  EXPECT_THAT(refusal(one + GgufWriter::string("k") + bytes(uint32_t{10}) + bytes(UINT64_MAX) + std::string(32, 'x')),
              HasSubstr("too large"));
  EXPECT_THAT(refusal(GgufWriter().tensor("t", {uint64_t{1} << 39, uint64_t{1} << 39}, 0, "").content()), HasSubstr("invalid size"));
  EXPECT_THAT(refusal(GgufWriter().tensor("t", {UINT64_MAX}, 0, "").content()), HasSubstr("invalid size"));
  EXPECT_THAT(refusal(GgufWriter().tensor("t", {1, 1, 1, 1, 1}, 0, "").content()), HasSubstr("5 dimensions"));
  EXPECT_THAT(refusal(GgufWriter().tensor("t", {64, 64}, 0, "short").content()), HasSubstr("outside of the file"));
  EXPECT_THAT(refusal(GgufWriter().tensor("t", {1, 33}, 2, std::string(64, 'x')).content()), HasSubstr("whole blocks of 32"));
  EXPECT_THAT(refusal(GgufWriter().tensor("t", {1}, 0, "abcd").tensor("t", {1}, 0, "abcd").content()), HasSubstr("twice"));
  EXPECT_THAT(refusal(GgufWriter().number("k", 1).number("k", 1).content()), HasSubstr("twice"));
  EXPECT_THAT(refusal(GgufWriter().number("general.alignment", 0).content()), HasSubstr("power of two"));
  EXPECT_THAT(refusal(GgufWriter().number("general.alignment", 24).content()), HasSubstr("power of two"));
}

TEST(Gguf, OtherVersionsAndFilesAreNamed) {
  EXPECT_THAT(refusal(tiny_llama().content(1)), HasSubstr("version is 1"));
  EXPECT_THAT(refusal(tiny_llama().content(4)), HasSubstr("version is 4"));
  EXPECT_THAT(refusal(tiny_llama().content(0x03000000)), HasSubstr("big-endian"));
  EXPECT_THAT(refusal("PK\x03\x04 something else"), HasSubstr("ZIP archive"));
  EXPECT_THAT(refusal("version https://git-lfs.github.com/spec/v1\n"), HasSubstr("git lfs pull"));
  EXPECT_THAT(refusal("\x01\x02"), HasSubstr("not a GGUF file"));
  EXPECT_THAT(refusal(""), HasSubstr("is empty"));
}

TEST(Gguf, WhatDeepgapDoesNotRunIsRefusedByName) {
  EXPECT_THAT(refusal(GgufWriter().text("general.architecture", "mamba").content(), ErrorKind::refused), HasSubstr("'mamba'"));
  EXPECT_THAT(refusal(tiny_llama().number("llama.expert_count", 8).content(), ErrorKind::refused), HasSubstr("mixture of experts"));
  EXPECT_THAT(refusal(tiny_llama().text("llama.rope.scaling.type", "yarn").content(), ErrorKind::refused), HasSubstr("yarn"));
  EXPECT_THAT(refusal(tiny_llama().tensor("output.weight", {8, 256}, 13, std::string(2000, 'x')).content(), ErrorKind::refused),
              HasSubstr("Q5_K"));
}

TEST(Gguf, WhatContradictsItselfIsRefused) {
  EXPECT_THAT(refusal(GgufWriter().content()), HasSubstr("general.architecture"));
  EXPECT_THAT(refusal(GgufWriter().text("general.architecture", "llama").content()), HasSubstr("llama.block_count"));
  EXPECT_THAT(refusal(tiny_llama().tensor("output.weight", {8, 9}, 0, std::string(8 * 9 * 4, 'x')).content()), HasSubstr("expected [8,8]"));
  EXPECT_THAT(refusal(tiny_llama().number("tokenizer.ggml.eos_token_id", 8).content()), HasSubstr("outside of the vocabulary"));
  EXPECT_THAT(refusal(tiny_llama().number("llama.attention.key_length", 7).content()), HasSubstr("heads have 7"));
}

// One block of each type, with bytes (i * 37 + 11) % 251 and these scales; the values are those of the PyPI package gguf 0.19.
struct Expected {
  WeightType type;
  int64_t bytes;
  std::vector<int64_t> scales;  // where two bytes are a scale: 0x2c00 first, 0xb1a0 second
  double sum;
  std::vector<std::pair<size_t, double>> values;
};
const std::vector<Expected>& expected_blocks() {
  static const std::vector<Expected> all{
      {WeightType::q8_0, 34, {0}, -6.0625, {{0, 5.3125}, {1, 7.625}, {7, 5.8125}, {15, -7.375}, {16, -5.0625}, {23, -4.5625}, {31, -1.75}}},
      {WeightType::q4_0, 18, {0}, -1.3125, {{0, -0.1875}, {1, 0.125}, {7, 0.3125}, {15, 0.125}, {16, -0.1875}, {23, -0.1875}, {31, 0.0}}},
      {WeightType::q4_1,
       20,
       {0, 2},
       10.0,
       {{0, 0.76171875}, {1, 0.07421875}, {7, 0.26171875}, {15, 0.07421875}, {16, 0.38671875}, {23, 0.44921875}, {31, 0.63671875}}},
      {WeightType::q4_k,
       144,
       {0, 2},
       4972.5,
       {{0, 19.53125},
        {1, 29.21875},
        {15, 29.21875},
        {16, 38.90625},
        {31, 17.59375},
        {32, 6.59765625},
        {63, 8.84765625},
        {64, 36.2265625},
        {100, 19.91796875},
        {128, 7.609375},
        {160, 45.26171875},
        {200, 35.30078125},
        {255, 6.328125}}},
      {WeightType::q6_k,
       210,
       {208},
       -655.0625,
       {{0, -27.1875},
        {1, 87.0},
        {15, 87.0},
        {16, -209.25},
        {31, -46.5},
        {32, 5.9375},
        {63, -10.875},
        {64, 0.0},
        {100, -39.875},
        {128, -62.0},
        {160, -53.125},
        {200, -39.875},
        {255, 145.0}}}};
  return all;
}

TEST(WeightType, BlocksAreReadAsGgufsOwnPackageReadsThem) {
  for (const Expected& one : expected_blocks()) {
    std::vector<std::byte> block;
    for (int64_t i = 0; i < one.bytes; ++i) block.push_back(static_cast<std::byte>((i * 37 + 11) % 251));
    for (size_t k = 0; k < one.scales.size(); ++k) {
      const uint16_t half = k == 0 ? 0x2c00 : 0xb1a0;
      std::memcpy(block.data() + one.scales[k], &half, sizeof half);
    }
    std::vector<float> values(static_cast<size_t>(format_of(one.type).block));
    dequantize_row(one.type, block.data(), values);
    double sum = 0;
    for (const float value : values) sum += static_cast<double>(value);
    EXPECT_NEAR(sum, one.sum, 1e-3) << format_of(one.type).name;
    for (const auto& [at, value] : one.values) EXPECT_NEAR(values[at], value, 1e-5) << format_of(one.type).name << " " << at;
  }
}

TEST(WeightType, WhatIsWrittenIsReadWithinTheStepOfItsType) {
  std::vector<float> values;
  for (int i = 0; i < 64; ++i) values.push_back(std::sin(static_cast<float>(i) * 0.7F));
  for (const auto& [type, error] : std::vector<std::pair<WeightType, double>>{{WeightType::f32, 0},
                                                                              {WeightType::f16, 1e-3},
                                                                              {WeightType::bf16, 1e-2},
                                                                              {WeightType::q8_0, 0.6 / 127},
                                                                              {WeightType::q4_0, 0.14},
                                                                              {WeightType::q4_1, 0.07}}) {
    std::vector<std::byte> row(static_cast<size_t>(row_bytes(type, 64)));
    quantize_row(type, values, row.data());
    std::vector<float> read(64);
    dequantize_row(type, row.data(), read);
    for (size_t i = 0; i < 64; ++i) EXPECT_NEAR(read[i], values[i], error) << format_of(type).name << " " << i;
  }
}

}  // namespace
}  // namespace deepgap
