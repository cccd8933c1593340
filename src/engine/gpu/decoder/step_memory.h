// What a decoder's steps read and write on a GPU beside its weights: the cache of keys and values, the numbers of the tokens under way, and
// the description of the tokens, which the host writes.
//
// Threads: one at a time, the context current.
#pragma once

#include "cuda/objects.h"
#include "engine/gpu/decoder/device_decoder.h"
#include "engine/gpu/decoder/library_gemm.h"
#include "engine/gpu/decoder/step_kernels.h"
#include "model/decoder/decoder_steps.h"

#include <cstdint>
#include <span>

namespace deepgap::gpu {

struct StepMemory {
  static constexpr int64_t most_rows = 1024;
  static constexpr int64_t most_parts = 8;  // parts of an attention's positions

  // `unpacked_numbers`: the most numbers of a quantized matrix. Throws Error{out_of_memory}.
  StepMemory(const DecoderModel& model, const StepShape& shape, int64_t sequences, int64_t unpacked_numbers);

  // Copies what the rows are to the device; returns how many want scores.
  int64_t describe(std::span<const DecoderRow> rows, cuda::StreamHandle stream);
  cuda::Address tokens() const { return rows.address(); }
  cuda::Address sequences() const { return rows.address() + row_bytes; }
  cuda::Address positions() const { return rows.address() + 2 * row_bytes; }
  cuda::Address wanted() const { return rows.address() + 3 * row_bytes; }
  // Returns where tokens that follow one another in a sequence stand, up to 16 at a time: the first one's row, and their count.
  cuda::Address tiles() const { return rows.address() + 4 * row_bytes; }
  int64_t tile_count = 0;
  bool has_prompts = false;  // some row does not want scores

  void fetch_best(int64_t count, cuda::StreamHandle stream);
  int64_t best_token(size_t n) const;                                                           // once the stream is there
  int64_t most_scores() const { return static_cast<int64_t>(best.bytes() / sizeof(int32_t)); }  // that there is memory for

  // Into how many parts the positions of each of `count` tokens are cut.
  int64_t attention_parts(int64_t count, int multiprocessors) const;
  int64_t cache_bytes() const { return static_cast<int64_t>(keys.bytes() + values.bytes()); }

  cuda::DeviceMemory keys, values;  // FP16: [sequence][layer][head][position][number]
  cuda::DeviceMemory cosines, sines;
  cuda::DeviceMemory hidden, qkv;                        // floats, a row a token
  cuda::DeviceMemory normalized, attended, inner, wide;  // halves
  cuda::DeviceMemory scores, best;
  cuda::DeviceMemory partials, counters;  // attention in parts
  cuda::DeviceMemory unpacked;
  cuda::DeviceMemory rows;

 private:
  static constexpr size_t row_bytes = most_rows * sizeof(int32_t);
  void make_rotations(const DecoderModel& model, const StepShape& shape);
  void clear() const;
  void describe_tiles(std::span<const DecoderRow> rows);

  cuda::PinnedMemory described_, found_;
  int64_t context_, kv_heads_;
};

}  // namespace deepgap::gpu
