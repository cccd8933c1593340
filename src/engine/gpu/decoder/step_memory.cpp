#include "engine/gpu/decoder/step_memory.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace deepgap::gpu {
namespace {

constexpr int64_t span = 256;  // positions that a block of attention takes at a time

cuda::DeviceMemory taken(int64_t numbers, int64_t bytes) { return cuda::DeviceMemory(static_cast<size_t>(numbers * bytes)); }

cuda::DeviceMemory uploaded(const std::vector<float>& numbers) {
  cuda::DeviceMemory memory(numbers.size() * sizeof(float));
  cuda::upload(memory.address(), numbers.data(), memory.bytes());
  return memory;
}

}  // namespace

StepMemory::StepMemory(const DecoderModel& model, const StepShape& shape, int64_t sequences, int64_t unpacked_numbers)
    : context_(shape.cache_context), kv_heads_(model.shape.kv_heads) {
  const DecoderShape& d = model.shape;
  const int64_t cached = sequences * d.layers * d.kv_heads * context_ * d.head_size, answers = std::min(sequences, most_rows);
  // Products round their tokens up.
  const int64_t asked = (answers + LibraryGemm::row_unit - 1) / LibraryGemm::row_unit * LibraryGemm::row_unit;
  keys = taken(cached, 2);
  values = taken(cached, 2);
  hidden = taken(most_rows * d.embedding, 4);
  qkv = taken(most_rows * shape.qkv(), 4);
  normalized = taken(most_rows * shape.pitch(d.embedding), 2);
  attended = taken(most_rows * shape.pitch(shape.queries()), 2);
  inner = taken(most_rows * shape.pitch(d.feed_forward), 2);
  wide = taken(most_rows * d.feed_forward * (shape.style.gated ? 2 : 1), 2);
  scores = taken(asked * d.vocabulary, 4);
  best = taken(asked, 4);
  partials = taken(most_product_tokens * d.kv_heads * most_parts * shape.shared() * (d.head_size + 2), 4);
  counters = taken(most_rows * d.kv_heads, 4);
  unpacked = taken(unpacked_numbers, 2);
  rows = taken(6 * most_rows, 4);
  described_ = cuda::PinnedMemory(6 * row_bytes);
  found_ = cuda::PinnedMemory(best.bytes());
  make_rotations(model, shape);
  clear();
}

void StepMemory::make_rotations(const DecoderModel& model, const StepShape& shape) {
  if (shape.style.learned_positions) return;
  const DecoderShape& d = model.shape;
  const int64_t pairs = d.rope_size / 2;
  std::vector<float> divisors(static_cast<size_t>(pairs), 1);
  if (const DecoderWeight* given = model.find_weight("rope_freqs.weight")) dequantize_row(given->type, given->data.data.get(), divisors);
  std::vector<float> cosine, sine;
  for (int64_t p = 0; p < context_; ++p)
    for (int64_t i = 0; i < pairs; ++i) {
      const double slowing = std::pow(d.rope_base, -2.0 * static_cast<double>(i) / static_cast<double>(d.rope_size));
      const double angle = static_cast<double>(p) * slowing / static_cast<double>(divisors[static_cast<size_t>(i)]);
      cosine.push_back(static_cast<float>(std::cos(angle)));
      sine.push_back(static_cast<float>(std::sin(angle)));
    }
  cosines = uploaded(cosine);
  sines = uploaded(sine);
}

// Padding of factors stays zero, and counters begin there.
void StepMemory::clear() const {
  for (const cuda::DeviceMemory* memory : {&hidden, &qkv, &normalized, &attended, &inner, &wide, &counters, &unpacked, &rows})
    cuda::check(cuda::driver().cuMemsetD8Async(memory->address(), 0, memory->bytes(), nullptr), "filling a step's memory");
  cuda::check(cuda::driver().cuStreamSynchronize(nullptr), "filling a step's memory");
}

int64_t StepMemory::describe(std::span<const DecoderRow> all, cuda::StreamHandle stream) {
  auto* numbers = reinterpret_cast<int32_t*>(described_.data());
  int64_t asked = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    numbers[i] = static_cast<int32_t>(all[i].token);
    numbers[most_rows + static_cast<int64_t>(i)] = static_cast<int32_t>(all[i].sequence);
    numbers[2 * most_rows + static_cast<int64_t>(i)] = static_cast<int32_t>(all[i].position);
    if (all[i].wants_scores) numbers[3 * most_rows + asked++] = static_cast<int32_t>(i);
  }
  has_prompts = asked != static_cast<int64_t>(all.size());
  describe_tiles(all);
  cuda::check(cuda::driver().cuMemcpyHtoDAsync_v2(rows.address(), described_.data(), described_.bytes(), stream), "copying tokens");
  return asked;
}

void StepMemory::describe_tiles(std::span<const DecoderRow> all) {
  auto* tiles = reinterpret_cast<int32_t*>(described_.data()) + 4 * most_rows;
  tile_count = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool goes_on = i > 0 && all[i].sequence == all[i - 1].sequence && all[i].position == all[i - 1].position + 1;
    if (goes_on && tiles[2 * tile_count - 1] < tile_rows) {
      ++tiles[2 * tile_count - 1];
      continue;
    }
    tiles[2 * tile_count] = static_cast<int32_t>(i);
    tiles[2 * tile_count + 1] = 1;
    ++tile_count;
  }
}

void StepMemory::fetch_best(int64_t count, cuda::StreamHandle stream) {
  if (count == 0) return;
  cuda::check(cuda::driver().cuMemcpyDtoHAsync_v2(found_.data(), best.address(), static_cast<size_t>(count) * sizeof(int32_t), stream),
              "copying chosen tokens");
}

int64_t StepMemory::best_token(size_t n) const {
  int32_t token = 0;
  std::memcpy(&token, found_.data() + n * sizeof token, sizeof token);
  return token;
}

int64_t StepMemory::attention_parts(int64_t count, int multiprocessors) const {
  if (count > most_product_tokens) return 1;
  const int64_t spans = (context_ + span - 1) / span, wanted = 2 * multiprocessors / std::max<int64_t>(count * kv_heads_, 1);
  return std::clamp<int64_t>(std::min(spans, wanted), 1, most_parts);
}

}  // namespace deepgap::gpu
