// Attention of a decoder's steps by ATen's scaled_dot_product_attention, with a cache of keys and values for each sequence. One thread at a
// time.
#pragma once

#include "model/decoder/decoder.h"
#include "model/decoder/decoder_steps.h"

#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

namespace deepgap {

class TorchAttention {
 public:
  // Keys and values in the type and on the device of `options`.
  TorchAttention(const DecoderShape& shape, int64_t sequences, int64_t context, const at::TensorOptions& options);

  int64_t bytes() const;
  int64_t context() const { return context_; }

  // What the layers of a step have in common; before their attend().
  void begin(std::span<const DecoderRow> rows);
  const at::Tensor& positions() const { return positions_; }  // a number for each row of the step
  // `queries` are [rows, heads, size], the others [rows, kv_heads, size]; they are kept. Returns [rows, heads * size].
  at::Tensor attend(size_t layer, const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values);

 private:
  // Rows that are computed by one call: those of a prompt, or the next tokens of several sequences.
  struct Group {
    int64_t first = 0, count = 0;  // rows
    bool is_prompt = false;
    int64_t sequence = 0;    // a prompt's, or the lowest
    at::Tensor sequences;    // undefined: they stand one after the other from `sequence`
    int64_t longest = 0;     // positions that are looked at
    at::Tensor mask;         // undefined: every row looks at all of them
    bool is_causal = false;  // a prompt from its beginning
  };
  struct Cache {
    at::Tensor keys, values;  // [sequences, kv_heads, context, size]
  };

  Group prompt_group(std::span<const DecoderRow> rows, int64_t first);
  Group token_group(std::span<const DecoderRow> rows, int64_t first);
  at::Tensor seen_by(const Group& group, const at::Tensor& cached) const;
  at::Tensor answer(const Group& group, const at::Tensor& queries, const Cache& cache) const;

  const DecoderShape shape_;
  const int64_t context_;
  const at::Device device_;
  std::vector<Cache> caches_;  // by layer
  std::vector<Group> groups_;
  at::Tensor positions_, sequences_, all_positions_;
};

}  // namespace deepgap
