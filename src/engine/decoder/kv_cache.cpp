#include "engine/decoder/kv_cache.h"

#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

constexpr int64_t lanes = PackedMatrix::rows_a_group;

}  // namespace

KvCache::KvCache(const DecoderShape& shape, int64_t sequences, int64_t context)
    : head_size_(shape.head_size),
      kv_heads_(shape.kv_heads),
      sequences_(sequences),
      context_((context + lanes - 1) / lanes * lanes),
      sequence_(shape.layers * shape.kv_heads * shape.head_size * context_) {
  try {
    keys_.resize(static_cast<size_t>(sequences_ * sequence_));
    values_.resize(static_cast<size_t>(sequences_ * sequence_));
  } catch (const std::exception&) {  // bad_alloc, or length_error for a size that no vector has
    throw Error(ErrorKind::out_of_memory,
                fmt::format("native: no memory for a cache of keys and values of {} ({} sequences of {} tokens): lower the number of "
                            "sequences, --prompt-tokens or --output-tokens",
                            format_bytes(static_cast<double>(bytes())), sequences, context));
  }
}

size_t KvCache::offset(int64_t sequence, int64_t layer, int64_t kv_head) const {
  return static_cast<size_t>(sequence * sequence_ + (layer * kv_heads_ + kv_head) * head_size_ * context_);
}

CachedHead KvCache::head(int64_t sequence, int64_t layer, int64_t kv_head) const {
  const size_t at = offset(sequence, layer, kv_head);
  return {keys_.data() + at, values_.data() + at};
}

void KvCache::write(int64_t sequence, int64_t layer, int64_t kv_head, int64_t position, const uint16_t* key, const uint16_t* value) {
  const size_t at = offset(sequence, layer, kv_head);
  uint16_t* keys = keys_.data() + at + static_cast<size_t>(position / lanes * lanes * head_size_ + position % lanes);
  for (int64_t d = 0; d < head_size_; ++d) keys[d * lanes] = key[d];
  std::copy_n(value, head_size_, values_.data() + at + static_cast<size_t>(position * head_size_));
}

}  // namespace deepgap
