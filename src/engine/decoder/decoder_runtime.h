// Computes a decoder's steps on the CPU.
//
// A dedicated runtime instead of a Graph of operators with state: a step of one token has 30 layers of five short loops over threads, and
// the Graph's executor would have to learn about caches that grow, weights in blocks, and rows that belong to unlike sequences.
//
// One thread calls it; its loops run on the OpenMP threads that the caller's TeamScope sets.
#pragma once

#include "engine/decoder/kernels.h"
#include "engine/decoder/kv_cache.h"
#include "model/decoder/decoder.h"
#include "model/decoder/decoder_steps.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

class DecoderRuntime final : public DecoderSteps {
 public:
  // The model outlives it. `stored_as`: the type to which matrices of floats are converted; f32: they stay as they are.
  DecoderRuntime(const DecoderModel& model, const DecoderKernels& kernels, WeightType stored_as);

  int64_t most_rows() const override { return row_limit; }
  void make_cache(int64_t sequences, int64_t context) override;
  int64_t cache_bytes() const override { return cache_ ? cache_->bytes() : 0; }
  int64_t cache_context() const override { return cache_ ? cache_->context() : 0; }
  void run(std::span<const DecoderRow> rows) override;
  std::span<const float> scores(size_t n) override;
  int64_t best_token(size_t n) override;
  int64_t weight_bytes() const override { return weight_bytes_; }
  std::map<std::string, double> type_shares() const override;

 private:
  static constexpr int64_t row_limit = 128;

  struct Linear {
    PackedMatrix matrix;
    const float* bias = nullptr;
  };
  struct Norm {
    const float* weight = nullptr;
    const float* bias = nullptr;
  };
  struct Layer {
    Norm attention_norm, feed_forward_norm;
    const float *query_norm = nullptr, *key_norm = nullptr;
    std::vector<Linear> qkv;  // three, or one for all
    Linear output;
    std::vector<Linear> up;  // the gate first, where there is one
    Linear down;
  };
  // The other factor of a product, quantized where a matrix wants it.
  struct Factor {
    std::vector<int8_t> integers;
    std::vector<float> scales, sums;
  };

  const float* vector(const std::string& name);
  Norm norm(const std::string& name);
  Linear linear(const std::string& name);
  PackedMatrix pack(const DecoderWeight& weight);
  void make_layers();
  void make_rotations();

  void embed(std::span<const DecoderRow> rows);
  void normalize(const Norm& norm, const float* from, int64_t rows, float* to) const;
  Activations factor(const float* from, int64_t columns, int64_t rows, bool as_integers);
  // Multiplies one factor by several matrices, whose results stand side by side in `to`: rows of all their sizes together.
  void multiply(std::span<const Linear> matrices, const float* from, int64_t rows, float* to);
  void rotate(float* head, int64_t position) const;
  void attend(const Layer& layer, int64_t index, std::span<const DecoderRow> rows);
  void feed_forward(const Layer& layer, int64_t rows);
  void score(std::span<const DecoderRow> rows);

  const DecoderModel& model_;
  const DecoderShape shape_;
  const DecoderStyle& style_;
  const DecoderKernels& kernels_;
  WeightType stored_as_;
  std::vector<std::unique_ptr<std::vector<float>>> vectors_;
  std::vector<Layer> layers_;
  Norm output_norm_;
  Linear scores_of_;
  int64_t weight_bytes_ = 0;
  std::map<WeightType, int64_t> numbers_;  // numbers in matrices, by type
  std::vector<float> cosines_, sines_;     // by position, then by pair
  std::optional<KvCache> cache_;

  Factor factor_;
  std::vector<float> hidden_, normalized_, qkv_, attended_, inner_, scores_;
  std::vector<std::vector<float>> attention_scores_;  // one vector per thread
};

}  // namespace deepgap
