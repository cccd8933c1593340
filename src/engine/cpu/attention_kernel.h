// softmax(scale * query x key + mask) x value, head by head, without the matrix of scores.
//
// Problem: the scores of a head are queries x keys numbers, which the softmax has to see twice, while all that is wanted of them is a
// sum of rows of `value`. Idea: keys are taken block by block. For each query the largest score so far, the sum of the exponentials and
// the weighted sum of values are kept; when a block brings a larger score, sum and result are scaled down to it (Milakov and Gimelshein,
// "Online normalizer calculation for softmax", 2018; Dao et al., "FlashAttention", 2022). Queries lie across vectors and keys along
// them, so that maxima and sums need no sums inside a vector, and the exponentials of a block are the right factor of the second product
// as they lie. Cost: each operand is packed once for each thread that works on its head; scores never leave the first-level cache.
//
// Numbers in BF16 are multiplied as such where there is AMX, and in float32 elsewhere (attention_products.h).
#pragma once

#include "engine/passes/attention.h"

#include <deepgap/tensor.h>

#include <cstddef>

namespace deepgap {

struct AttentionCall {
  Attention shape;
  DataType query, key, value, result;  // float32 or bfloat16; the mask is float32
};
struct AttentionBuffers {
  const std::byte *query, *key, *value, *mask;  // mask: nullptr where there is none
  std::byte* result;
  std::byte* scratch;  // attention_scratch_bytes() bytes
};

DataType attention_precision(const AttentionCall& call);  // precision of its products
size_t attention_scratch_bytes(const AttentionCall& call, int threads);
// Runs on the calling thread's OpenMP team, with `threads` threads at most.
void run_attention(const AttentionCall& call, const AttentionBuffers& buffers, int threads);

}  // namespace deepgap
