// Attention in one kernel: where the operands lie, what its two kernels share as text, and the one for Hopper.
#pragma once

#include "engine/gpu/launch.h"
#include "engine/gpu/lowering.h"
#include "engine/passes/attention.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace deepgap::gpu {

struct AttentionLayout {
  Attention attention;
  std::array<int64_t, 3> first{};  // elements before query, key and value
  Element element = Element::f16;  // type of all tensors but the mask
};

// Whether each is read, and the result written, 16 bytes at a time: their elements next to each other, all else multiples of eight.
struct WideOperands {
  bool query = false, key = false, value = false, result = false;
  bool all() const { return query && key && value && result; }
};
WideOperands wide_operands(const AttentionLayout& layout);

// Macros of the mask: MASK_PARAMETER and MASK_ARGUMENT (with a comma behind), MASK_OF_KEY (for each key, with `key`, `batch` and `head`),
// MASKED (for each score x, with `place`, the query's number, too) and FACTOR, by which what then is x becomes a power of two's exponent.
// `mask`: nullptr: there is none.
std::string attention_mask_text(const Attention& attention, const Operand* mask);
// Returns the steps of query, key, value and result as macros Q0 .. R3; for key, K3 is from one key to the next.
std::string attention_steps_text(const Attention& attention);

// Returns the kernel for sm_90a: TMA brings keys and values, wgmma multiplies. Its arguments are query, key, value, the mask if there is
// one, result. nullopt: the mma.sync kernel does this one.
std::optional<Launch> hopper_attention(const AttentionLayout& layout, const std::string& mask_text, const std::string& entry,
                                       const Chip& chip);

}  // namespace deepgap::gpu
