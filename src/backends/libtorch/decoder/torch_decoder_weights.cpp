#include "backends/libtorch/decoder/torch_decoder_weights.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <fmt/format.h>

#include <optional>
#include <span>

namespace deepgap {
namespace {

std::optional<at::ScalarType> float_type(WeightType type) {
  switch (type) {
    case WeightType::f32:
      return at::kFloat;
    case WeightType::f16:
      return at::kHalf;
    case WeightType::bf16:
      return at::kBFloat16;
    case WeightType::q8_0:
    case WeightType::q4_0:
    case WeightType::q4_1:
    case WeightType::q4_k:
    case WeightType::q6_k:
      break;
  }
  return std::nullopt;
}

template <typename Work>
void for_each_row(const at::Tensor& matrix, const Work& work) {
  const int64_t columns = matrix.size(1);
  auto* values = matrix.mutable_data_ptr<float>();
  for (int64_t row = 0; row < matrix.size(0); ++row) work(row, std::span(values + row * columns, static_cast<size_t>(columns)));
}

// The numbers of a weight; floats as they are, over the model's own bytes.
at::Tensor numbers_of(const DecoderWeight& weight) {
  const std::byte* data = weight.data.data.get();
  if (const auto type = float_type(weight.type))
    return at::from_blob(const_cast<std::byte*>(data), {weight.rows, weight.columns}, at::TensorOptions(*type));
  at::Tensor numbers = at::empty({weight.rows, weight.columns}, at::TensorOptions(at::kFloat));
  const int64_t bytes = row_bytes(weight.type, weight.columns);
  for_each_row(numbers, [&](int64_t row, std::span<float> values) { dequantize_row(weight.type, data + row * bytes, values); });
  return numbers;
}

// The floats of a seeded network as its type rounds them: the network is the one that an engine computes which keeps that type.
at::Tensor rounded(const at::Tensor& floats, WeightType type) {
  if (type == WeightType::f32 || floats.size(1) % format_of(type).block != 0) return floats;
  if (const auto float_of_type = float_type(type)) return floats.to(*float_of_type);
  at::Tensor numbers = floats.clone();
  std::vector<std::byte> blocks(static_cast<size_t>(row_bytes(type, floats.size(1))));
  for_each_row(numbers, [&](int64_t, std::span<float> values) {
    quantize_row(type, values, blocks.data());
    dequantize_row(type, blocks.data(), values);
  });
  return numbers;
}

class Reader {
 public:
  Reader(const DecoderModel& model, const at::TensorOptions& options) : model_(model), options_(options) {}

  int64_t bytes() const { return bytes_; }

  at::Tensor matrix(const std::string& name) {
    const DecoderWeight& weight = model_.weight(name);
    const at::Tensor numbers = numbers_of(weight);
    return kept(weight.type == WeightType::f32 ? rounded(numbers, model_.stored_as) : numbers);
  }
  at::Tensor vector(const std::string& name) {
    const DecoderWeight* weight = model_.find_weight(name);
    return weight == nullptr ? at::Tensor() : kept(numbers_of(*weight).reshape({weight->columns}));
  }
  TorchWeights norm(const std::string& name) { return {vector(name + ".weight"), vector(name + ".bias")}; }
  TorchWeights linear(const std::string& name) { return {matrix(name + ".weight"), vector(name + ".bias")}; }

  TorchDecoderLayer layer(const std::string& prefix, const DecoderStyle& style) {
    TorchDecoderLayer layer{norm(prefix + "attn_norm"),
                            norm(prefix + "ffn_norm"),
                            vector(prefix + "attn_q_norm.weight"),
                            vector(prefix + "attn_k_norm.weight"),
                            {},
                            {},
                            {},
                            {},
                            {}};
    if (style.joined_qkv) {
      layer.qkv.push_back(linear(prefix + "attn_qkv"));
    } else {
      for (const char* part : {"attn_q", "attn_k", "attn_v"}) layer.qkv.push_back(linear(prefix + part));
    }
    layer.output = linear(prefix + "attn_output");
    if (style.gated) layer.gate = linear(prefix + "ffn_gate");
    layer.up = linear(prefix + "ffn_up");
    layer.down = linear(prefix + "ffn_down");
    return layer;
  }

 private:
  at::Tensor kept(const at::Tensor& numbers) {
    at::Tensor own = numbers.to(options_, false, true).contiguous();
    bytes_ += static_cast<int64_t>(own.nbytes());
    return own;
  }

  const DecoderModel& model_;
  const at::TensorOptions options_;
  int64_t bytes_ = 0;
};

}  // namespace

TorchDecoderWeights torch_decoder_weights(const DecoderModel& model, const at::TensorOptions& options) {
  const DecoderStyle& style = *find_decoder_style(model.shape.architecture);
  Reader reader(model, options);
  TorchDecoderWeights weights;
  weights.tokens = reader.matrix("token_embd.weight");
  if (style.learned_positions) weights.positions = reader.matrix("position_embd.weight");
  for (int64_t i = 0; i < model.shape.layers; ++i) weights.layers.push_back(reader.layer(fmt::format("blk.{}.", i), style));
  weights.output_norm = reader.norm("output_norm");
  weights.scores.weight = model.find_weight("output.weight") == nullptr ? weights.tokens : reader.matrix("output.weight");
  weights.bytes = reader.bytes();
  return weights;
}

}  // namespace deepgap
