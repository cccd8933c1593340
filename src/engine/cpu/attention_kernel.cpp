#include "engine/cpu/attention_kernel.h"

#include "base/rounding.h"
#include "engine/cpu/attention_products.h"
#include "model/eval/half.h"

#include <omp.h>

#include <algorithm>
#include <limits>

namespace deepgap {
namespace {

constexpr int64_t key_tiles_per_block = 16;  // scores of a block: at most 256 keys x 32 queries, 32 KiB
constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

size_t float_bytes(int64_t count) { return static_cast<size_t>(round_up(count, 16)) * sizeof(float); }

const AttentionProducts& products_of(const AttentionCall& call) {
  return attention_products(call.query == DataType::bf16 && call.key == DataType::bf16 && call.value == DataType::bf16);
}

// Places of one thread's scratch memory, in bytes.
struct Layout {
  int64_t rows, lanes;  // size of a tile
  int64_t key_tiles, value_tiles;
  size_t key_tile, value_tile;  // bytes of one
  size_t query = 0, keys, values, scores, weights, result, bytes;

  Layout(const Attention& shape, const AttentionProducts& products)
      : rows(products.rows()),
        lanes(products.lanes()),
        key_tiles(divide_up(shape.keys, rows)),
        value_tiles(divide_up(shape.columns, rows)),
        key_tile(products.left_bytes(shape.depth)),
        value_tile(products.left_bytes(shape.keys)) {
    const int64_t block = std::min(key_tiles, key_tiles_per_block) * rows;
    keys = query + products.right_bytes(shape.depth);
    values = keys + static_cast<size_t>(key_tiles) * key_tile;
    scores = values + static_cast<size_t>(value_tiles) * value_tile;
    weights = scores + float_bytes(block * lanes);
    result = weights + products.right_bytes(block);
    bytes = result + float_bytes(value_tiles * rows * lanes);
  }
};

// One thread's work.
class Worker {
 public:
  Worker(const AttentionCall& call, const AttentionBuffers& buffers, const AttentionProducts& products, const Layout& layout,
         std::byte* scratch)
      : call_(call),
        shape_(call.shape),
        buffers_(buffers),
        products_(products),
        layout_(layout),
        query_(scratch + layout.query),
        keys_(scratch + layout.keys),
        values_(scratch + layout.values),
        weights_(scratch + layout.weights),
        scores_(reinterpret_cast<float*>(scratch + layout.scores)),
        result_(reinterpret_cast<float*>(scratch + layout.result)) {
    products_.begin();
  }
  ~Worker() { products_.end(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Queries [first, first + lanes) of a head.
  void run(int64_t head, int64_t first) {
    if (head != packed_head_) pack_head(head);
    const int64_t count = std::min(layout_.lanes, shape_.queries - first);
    const auto& steps = shape_.query.steps;
    products_.pack_right({call_.query, buffers_.query, offset(steps, head) + first * steps[2], count, steps[2], shape_.depth, steps[3]},
                         query_);
    std::fill_n(running_.largest, most_attention_lanes, minus_infinity);
    std::fill_n(running_.sum, most_attention_lanes, 0.0F);
    std::fill_n(result_, layout_.value_tiles * layout_.rows * layout_.lanes, 0.0F);
    for (int64_t tile = 0; tile < layout_.key_tiles; tile += key_tiles_per_block) add_block(head, first, count, tile);
    if (call_.result == DataType::bf16) {
      store<Bfloat16>(head, first, count, [](float value) { return to_bfloat16(value); });
    } else {
      store<float>(head, first, count, [](float value) { return value; });
    }
  }

 private:
  int64_t offset(const std::array<int64_t, 4>& steps, int64_t head) const {
    return head / shape_.heads * steps[0] + head % shape_.heads * steps[1];
  }

  void pack_head(int64_t head) {
    packed_head_ = head;
    const auto &key = shape_.key.steps, &value = shape_.value.steps;
    const int64_t rows = layout_.rows, key_at = offset(key, head), value_at = offset(value, head);
    for (int64_t tile = 0; tile < layout_.key_tiles; ++tile)
      products_.pack_left(
          {call_.key, buffers_.key, key_at + tile * rows * key[3], std::min(rows, shape_.keys - tile * rows), key[3], shape_.depth, key[2]},
          keys_ + static_cast<size_t>(tile) * layout_.key_tile);
    for (int64_t tile = 0; tile < layout_.value_tiles; ++tile)
      products_.pack_left({call_.value, buffers_.value, value_at + tile * rows * value[3], std::min(rows, shape_.columns - tile * rows),
                           value[3], shape_.keys, value[2]},
                          values_ + static_cast<size_t>(tile) * layout_.value_tile);
  }

  void add_block(int64_t head, int64_t first, int64_t count, int64_t first_tile) {
    const int64_t rows = layout_.rows, size = rows * layout_.lanes, tiles = std::min(key_tiles_per_block, layout_.key_tiles - first_tile);
    const int64_t first_key = first_tile * rows, keys = std::min(tiles * rows, shape_.keys - first_key);
    std::fill_n(scores_, tiles * size, 0.0F);
    for (int64_t tile = 0; tile < tiles; ++tile)
      products_.multiply(keys_ + static_cast<size_t>(first_tile + tile) * layout_.key_tile, shape_.depth, 0, query_, shape_.depth,
                         scores_ + tile * size);
    for (int64_t i = 0; i < keys * layout_.lanes; ++i) scores_[i] *= shape_.scale;
    if (shape_.mask) add_mask(head, first, count, first_key, keys);
    products_.take_in(scores_, keys, running_);
    for (int64_t row = 0; row < layout_.value_tiles * rows && first_tile > 0; ++row)
      for (int64_t c = 0; c < layout_.lanes; ++c) result_[row * layout_.lanes + c] *= running_.factor[c];
    const std::byte* weights = products_.right_of(scores_, keys, weights_);
    for (int64_t tile = 0; tile < layout_.value_tiles; ++tile)
      products_.multiply(values_ + static_cast<size_t>(tile) * layout_.value_tile, shape_.keys, first_key, weights, keys,
                         result_ + tile * size);
  }

  void add_mask(int64_t head, int64_t first, int64_t count, int64_t first_key, int64_t keys) {
    const auto& steps = shape_.mask->steps;
    const float* mask = reinterpret_cast<const float*>(buffers_.mask) + offset(steps, head) + first * steps[2] + first_key * steps[3];
    for (int64_t k = 0; k < keys; ++k) {
      float* row = scores_ + k * layout_.lanes;
      if (steps[2] == 0) {
        for (int64_t c = 0; c < layout_.lanes; ++c) row[c] += mask[k * steps[3]];
      } else {
        for (int64_t c = 0; c < count; ++c) row[c] += mask[c * steps[2] + k * steps[3]];
      }
    }
  }

  template <typename T, typename Convert>
  void store(int64_t head, int64_t first, int64_t count, Convert convert) {
    const auto& steps = shape_.result;
    T* to = reinterpret_cast<T*>(buffers_.result) + offset(steps, head) + first * steps[2];
    for (int64_t c = 0; c < count; ++c) {
      const float share = 1.0F / running_.sum[c];
      for (int64_t column = 0; column < shape_.columns; ++column)
        to[c * steps[2] + column * steps[3]] = convert(result_[column * layout_.lanes + c] * share);
    }
  }

  const AttentionCall& call_;
  const Attention& shape_;
  const AttentionBuffers& buffers_;
  const AttentionProducts& products_;
  const Layout& layout_;
  std::byte *query_, *keys_, *values_, *weights_;
  float *scores_, *result_;
  RunningSoftmax running_;
  int64_t packed_head_ = -1;
};

}  // namespace

DataType attention_precision(const AttentionCall& call) { return products_of(call).factors(); }

size_t attention_scratch_bytes(const AttentionCall& call, int threads) {
  return Layout(call.shape, products_of(call)).bytes * static_cast<size_t>(threads);
}

void run_attention(const AttentionCall& call, const AttentionBuffers& buffers, int threads) {
  const AttentionProducts& products = products_of(call);
  const Layout layout(call.shape, products);
  const int64_t groups = divide_up(call.shape.queries, layout.lanes), items = call.shape.batch * call.shape.heads * groups;
#pragma omp parallel num_threads(threads)
  {
    const int64_t team = omp_get_num_threads(), member = omp_get_thread_num();
    Worker worker(call, buffers, products, layout, buffers.scratch + static_cast<size_t>(member) * layout.bytes);
    for (int64_t item = items * member / team; item < items * (member + 1) / team; ++item)
      worker.run(item / groups, item % groups * layout.lanes);
  }
}

}  // namespace deepgap
