// The steps of a decoder as PyTorch's eager mode computes them: a call of ATen for each operation, on the CPU or a GPU.
#pragma once

#include "backends/libtorch/decoder/torch_attention.h"
#include "backends/libtorch/decoder/torch_decoder_weights.h"
#include "model/decoder/decoder_steps.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

class TorchDecoder final : public DecoderSteps {
 public:
  // `options`: the device, and the type of weights, activations and cache. `threads` inside an operator on the CPU.
  TorchDecoder(const DecoderModel& model, const at::TensorOptions& options, int threads);

  int64_t most_rows() const override { return 1024; }
  void make_cache(int64_t sequences, int64_t context) override;
  int64_t cache_bytes() const override { return attention_ ? attention_->bytes() : 0; }
  int64_t cache_context() const override { return attention_ ? attention_->context() : 0; }
  void run(std::span<const DecoderRow> rows) override;
  std::span<const float> scores(size_t n) override;
  int64_t best_token(size_t n) override;
  int64_t weight_bytes() const override { return weights_.bytes; }
  std::map<std::string, double> type_shares() const override;

 private:
  void make_rotations(const DecoderModel& model);
  at::Tensor embed(std::span<const DecoderRow> rows) const;
  at::Tensor normalized(const at::Tensor& x, const TorchWeights& norm) const;
  at::Tensor rotated(const at::Tensor& heads) const;
  at::Tensor attend(size_t layer, const at::Tensor& x);
  at::Tensor feed_forward(const TorchDecoderLayer& layer, const at::Tensor& x) const;
  void score(std::span<const DecoderRow> rows, const at::Tensor& x);

  const DecoderShape shape_;
  const DecoderStyle& style_;
  const at::TensorOptions options_;
  const int threads_;
  TorchDecoderWeights weights_;
  at::Tensor frequencies_;      // how fast each pair is rotated; undefined where positions are learned
  at::Tensor cosines_, sines_;  // [rows, 1, pairs], for the step's rows
  std::optional<TorchAttention> attention_;
  at::Tensor scores_;           // for the rows that want them, on the device
  std::vector<float> on_host_;  // likewise, once they are asked for
  std::vector<int64_t> best_;   // likewise
};

}  // namespace deepgap
