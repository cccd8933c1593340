// The two products and the softmax of fused attention (attention_kernel.h) on one instruction set. Sums come in tiles of rows() x lanes():
// keys x queries of the first product, columns of value x queries of the second.
#pragma once

#include <deepgap/tensor.h>

#include <cstddef>
#include <cstdint>

namespace deepgap {

inline constexpr int64_t most_attention_lanes = 32;

// A matrix of `count` lines, each with `depth` elements; steps are in elements.
struct AttentionOperand {
  DataType type;  // float32 or bfloat16
  const std::byte* data;
  int64_t offset;  // offset of its first element
  int64_t count, line_step;
  int64_t depth, depth_step;
};

// State of each query while keys are taken in.
struct RunningSoftmax {
  float largest[most_attention_lanes], sum[most_attention_lanes];
  float factor[most_attention_lanes];  // factor by which everything before has to be multiplied
};

// Objects keep nothing between calls: any number of threads.
class AttentionProducts {
 public:
  virtual ~AttentionProducts() = default;
  virtual DataType factors() const = 0;  // type of what is multiplied: float32 or bfloat16
  virtual int64_t rows() const = 0;
  virtual int64_t lanes() const = 0;                    // most_attention_lanes at most
  virtual size_t left_bytes(int64_t depth) const = 0;   // for a packed operand of rows() lines; a multiple of 64
  virtual size_t right_bytes(int64_t depth) const = 0;  // for a packed operand of lanes() lines

  // Packs lines beyond the operand's as 0.
  virtual void pack_left(const AttentionOperand& from, std::byte* panel) const = 0;
  virtual void pack_right(const AttentionOperand& from, std::byte* panel) const = 0;
  // Returns [depth][lanes()] as a right operand: packed into `panel`, or as it is.
  virtual const std::byte* right_of(const float* sums, int64_t depth, std::byte* panel) const = 0;
  // Adds to tile[row][lane] the sum over k < depth of left[row][first + k] * right[lane][k]; `left_depth` is what left was packed with.
  // `first` is a multiple of rows() times 2.
  virtual void multiply(const std::byte* left, int64_t left_depth, int64_t first, const std::byte* right, int64_t depth,
                        float* tile) const = 0;
  // Turns scores [count][lanes()] into their exponentials less the largest score so far.
  virtual void take_in(float* scores, int64_t count, RunningSoftmax& running) const = 0;
  // Called around everything that a thread multiplies.
  virtual void begin() const {}
  virtual void end() const {}
};

// Returns the best that this process may use; oneDNN's limit holds here, too. `all_bf16`: the operands are, and may be multiplied as such.
const AttentionProducts& attention_products(bool all_bf16);

}  // namespace deepgap
