// Keys and values of sequences that are being generated, in FP16, a slot for each sequence. One thread writes; the layouts are those that
// the inner loops read (kernels.h).
#pragma once

#include "engine/decoder/kernels.h"
#include "model/decoder/decoder.h"

#include <cstdint>
#include <vector>

namespace deepgap {

class KvCache {
 public:
  // Makes room for `sequences` sequences of `context` tokens. Throws Error{out_of_memory} naming the bytes.
  KvCache(const DecoderShape& shape, int64_t sequences, int64_t context);

  int64_t context() const { return context_; }
  int64_t bytes() const { return 2 * static_cast<int64_t>(sizeof(uint16_t)) * sequences_ * sequence_; }
  CachedHead head(int64_t sequence, int64_t layer, int64_t kv_head) const;
  // Stores the key and value of one head and position: head_size numbers in FP16 each.
  void write(int64_t sequence, int64_t layer, int64_t kv_head, int64_t position, const uint16_t* key, const uint16_t* value);

 private:
  size_t offset(int64_t sequence, int64_t layer, int64_t kv_head) const;

  int64_t head_size_, kv_heads_, sequences_;
  int64_t context_;   // rounded up to eight
  int64_t sequence_;  // numbers of a sequence's keys
  std::vector<uint16_t> keys_, values_;
};

}  // namespace deepgap
