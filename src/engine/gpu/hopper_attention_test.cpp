#include "cuda/compiler.h"
#include "engine/gpu/attention.h"

#include <gtest/gtest.h>

namespace deepgap::gpu {
namespace {

const Chip h100{90, 132, 227 << 10};

// Query, key and value side by side in rows of three times all heads, as one product wrote them.
AttentionLayout layout_of(int64_t queries, int64_t keys, int64_t depth, Element element = Element::f16) {
  constexpr int64_t heads = 3;
  const int64_t row = 3 * heads * depth;
  AttentionLayout layout;
  Attention& a = layout.attention;
  a.batch = 2, a.heads = heads, a.queries = queries, a.keys = keys, a.depth = a.columns = depth, a.scale = 0.125F;
  a.query.steps = {queries * row, depth, row, 1};
  a.key.steps = {keys * row, depth, 1, row};
  a.value.steps = {keys * row, depth, row, 1};
  a.result = {queries * heads * depth, depth, heads * depth, 1};
  layout.first = {0, heads * depth, 2 * heads * depth};
  layout.element = element;
  return layout;
}

void expect_in_registers(const AttentionLayout& layout, const std::string& mask_text) {
  const auto launch = hopper_attention(layout, mask_text, "attention", h100);
  ASSERT_TRUE(launch);
  EXPECT_LE(launch->shared_bytes, h100.shared_bytes);
  const cuda::Compiled compiled = cuda::compile(launch->source, h100.target());
  EXPECT_EQ(compiled.log.find("serialized"), std::string::npos)
      << layout.attention.keys << " keys, " << layout.attention.depth << " deep: " << compiled.log;
  const cuda::KernelResources taken = cuda::resources_of(compiled);
  EXPECT_EQ(taken.spill_bytes + taken.stack_bytes, 0) << layout.attention.queries << " queries, " << layout.attention.keys << " keys, "
                                                      << layout.attention.depth << " deep: " << taken.registers << " registers";
}

TEST(HopperAttention, KeepsItsSumsInRegisters) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  const std::string none = attention_mask_text(layout_of(1, 1, 64).attention, nullptr);
  for (const int64_t depth : {64, 128})
    for (const int64_t keys : {1, 100, 128, 197, 1000}) expect_in_registers(layout_of(keys, keys, depth), none);
  expect_in_registers(layout_of(1, 77, 64, Element::bf16), none);
}

TEST(HopperAttention, TakesMasks) {
  if (!cuda::has_compiler()) GTEST_SKIP() << "no NVRTC on this machine";
  for (const bool of_key : {true, false}) {
    AttentionLayout layout = layout_of(128, 128, 64);
    layout.attention.mask = Attention::Operand{3, {of_key ? 128 : 128 * 128, 0, of_key ? 0 : 128, 1}};
    Operand mask;
    mask.form.element = Element::f32;
    expect_in_registers(layout, attention_mask_text(layout.attention, &mask));
    EXPECT_EQ(hopper_attention(layout, attention_mask_text(layout.attention, &mask), "attention", h100)->arguments.size(), 5U);
  }
}

TEST(HopperAttention, LeavesWhatTheCopyEngineCannotBring) {
  const std::string none = attention_mask_text(layout_of(1, 1, 64).attention, nullptr);
  const auto done = [&](const AttentionLayout& layout, const Chip& chip = h100) {
    return hopper_attention(layout, none, "attention", chip).has_value();
  };
  EXPECT_TRUE(done(layout_of(64, 64, 64)));
  EXPECT_FALSE(done(layout_of(64, 64, 32)));
  EXPECT_FALSE(done(layout_of(64, 64, 64), {89, 58, 99 << 10}));
  AttentionLayout odd = layout_of(64, 64, 64);
  odd.first[1] += 4;  // 8 bytes on
  EXPECT_FALSE(done(odd));
  AttentionLayout shared = layout_of(64, 64, 64);
  shared.attention.key.steps[1] = 0;  // one for all heads
  EXPECT_FALSE(done(shared));
}

}  // namespace
}  // namespace deepgap::gpu
