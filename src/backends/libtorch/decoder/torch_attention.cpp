#include "backends/libtorch/decoder/torch_attention.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/index_put.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/le.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <optional>

namespace deepgap {
namespace {

template <typename Field>
at::Tensor column(std::span<const DecoderRow> rows, Field field, const at::Device& device) {
  std::vector<int64_t> numbers;
  for (const DecoderRow& row : rows) numbers.push_back(row.*field);
  return at::tensor(numbers, at::kLong).to(device);
}

std::optional<at::Tensor> given(const at::Tensor& tensor) { return tensor.defined() ? std::optional(tensor) : std::nullopt; }

}  // namespace

TorchAttention::TorchAttention(const DecoderShape& shape, int64_t sequences, int64_t context, const at::TensorOptions& options)
    : shape_(shape), context_(context), device_(options.device()) {
  const std::vector<int64_t> sizes{sequences, shape.kv_heads, context, shape.head_size};
  // Zeros: a masked position counts for nothing only if it holds a number.
  for (int64_t i = 0; i < shape.layers; ++i) caches_.push_back({at::zeros(sizes, options), at::zeros(sizes, options)});
  all_positions_ = at::arange(context, at::TensorOptions(device_).dtype(at::kLong));
}

int64_t TorchAttention::bytes() const { return static_cast<int64_t>(2 * caches_.size() * caches_.front().keys.nbytes()); }

void TorchAttention::begin(std::span<const DecoderRow> rows) {
  positions_ = column(rows, &DecoderRow::position, device_);
  sequences_ = column(rows, &DecoderRow::sequence, device_);
  groups_.clear();
  for (auto first = int64_t{0}; first < static_cast<int64_t>(rows.size()); first += groups_.back().count) {
    const auto at = static_cast<size_t>(first);
    const bool is_prompt = at + 1 < rows.size() && rows[at + 1].sequence == rows[at].sequence;
    groups_.push_back(is_prompt ? prompt_group(rows, first) : token_group(rows, first));
  }
}

TorchAttention::Group TorchAttention::prompt_group(std::span<const DecoderRow> rows, int64_t first) {
  const auto own = rows.subspan(static_cast<size_t>(first));
  const auto end = std::find_if(own.begin(), own.end(), [&](const DecoderRow& row) { return row.sequence != own.front().sequence; });
  Group group{.first = first, .count = end - own.begin(), .is_prompt = true, .sequence = own.front().sequence};
  group.longest = own[static_cast<size_t>(group.count) - 1].position + 1;
  group.is_causal = own.front().position == 0;
  if (!group.is_causal)
    group.mask = at::le(all_positions_.narrow(0, 0, group.longest), positions_.narrow(0, first, group.count).unsqueeze(1));
  return group;
}

TorchAttention::Group TorchAttention::token_group(std::span<const DecoderRow> rows, int64_t first) {
  Group group{.first = first, .sequence = rows[static_cast<size_t>(first)].sequence};
  bool in_order = true, alike = true;
  for (auto at = static_cast<size_t>(first); at < rows.size(); ++at, ++group.count) {
    if (at + 1 < rows.size() && rows[at + 1].sequence == rows[at].sequence) break;  // a prompt begins
    in_order = in_order && rows[at].sequence == group.sequence + group.count;
    alike = alike && rows[at].position == rows[static_cast<size_t>(first)].position;
    group.longest = std::max(group.longest, rows[at].position + 1);
  }
  if (!in_order) group.sequences = sequences_.narrow(0, first, group.count);
  if (!alike)
    group.mask = at::le(all_positions_.narrow(0, 0, group.longest), positions_.narrow(0, first, group.count).view({group.count, 1, 1, 1}));
  return group;
}

at::Tensor TorchAttention::seen_by(const Group& group, const at::Tensor& cached) const {
  const at::Tensor seen = cached.narrow(2, 0, group.longest);
  if (group.sequences.defined()) return at::index_select(seen, 0, group.sequences);
  return seen.narrow(0, group.sequence, group.is_prompt ? 1 : group.count);
}

// The heads that share keys stand as rows of one, so that no key is copied. The rows of a prompt have a dimension of their own.
at::Tensor TorchAttention::answer(const Group& group, const at::Tensor& queries, const Cache& cache) const {
  const int64_t shared = shape_.heads / shape_.kv_heads, width = shape_.heads * shape_.head_size;
  const at::Tensor own = queries.narrow(0, group.first, group.count);
  const at::Tensor q =
      group.is_prompt ? own.transpose(0, 1).unsqueeze(0) : own.reshape({group.count, shape_.kv_heads, shared, shape_.head_size});
  const at::Tensor found = at::scaled_dot_product_attention(q, seen_by(group, cache.keys), seen_by(group, cache.values), given(group.mask),
                                                            0, group.is_causal, std::nullopt, group.is_prompt && shared > 1);
  return (group.is_prompt ? found.squeeze(0).transpose(0, 1) : found).reshape({group.count, width});
}

at::Tensor TorchAttention::attend(size_t layer, const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values) {
  Cache& cache = caches_[layer];
  const c10::List<std::optional<at::Tensor>> places({sequences_, std::nullopt, positions_});
  cache.keys.index_put_(places, keys);
  cache.values.index_put_(places, values);
  std::vector<at::Tensor> parts;
  for (const Group& group : groups_) parts.push_back(answer(group, queries, cache));
  return parts.size() == 1 ? parts.front() : at::cat(parts);
}

}  // namespace deepgap
