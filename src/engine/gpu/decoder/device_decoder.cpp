#include "engine/gpu/decoder/device_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

namespace deepgap::gpu {
namespace {

bool is_quantized(WeightType type) { return matrix_format(type).bits != 16; }

class Uploading {
 public:
  Uploading(const DecoderModel& model, WeightType halves)
      : model_(model), style_(*find_decoder_style(model.shape.architecture)), halves_(halves) {
    made_.any_quantized = is_quantized(model.stored_as);
    for (const DecoderWeightSpec& spec : decoder_weights(model.shape))
      if (const DecoderWeight* weight = spec.is_vector ? nullptr : model.find_weight(spec.name))
        made_.any_quantized = made_.any_quantized || is_quantized(weight->type);
  }

  DeviceDecoder all() {
    for (int64_t i = 0; i < model_.shape.layers; ++i) made_.layers.push_back(layer(fmt::format("blk.{}.", i)));
    made_.output_norm = norm("output_norm");
    const DecoderWeight& table = model_.weight("token_embd.weight");
    const DecoderWeight* output = model_.find_weight("output.weight");
    made_.embeddings = as_halves(table);
    if (style_.learned_positions) made_.positions = as_halves(model_.weight("position_embd.weight"));
    const bool shares = output == nullptr && !is_quantized(table.type) && !is_quantized(model_.stored_as);
    made_.scores.parts.push_back(shares ? made_.embeddings : matrix({output == nullptr ? &table : output}, false));
    if (shares) made_.numbers[std::string(format_of(halves_).name)] += table.rows * table.columns;
    return std::move(made_);
  }

 private:
  std::optional<cuda::DeviceMemory> vector(std::initializer_list<std::string> names) {
    std::vector<float> values;
    for (const std::string& name : names) {
      const DecoderWeight* weight = model_.find_weight(name);
      if (weight == nullptr) return std::nullopt;
      std::vector<float> part(static_cast<size_t>(weight->columns));
      dequantize_row(weight->type, weight->data.data.get(), part);
      values.insert(values.end(), part.begin(), part.end());
    }
    cuda::DeviceMemory memory(values.size() * sizeof(float));
    cuda::upload(memory.address(), values.data(), memory.bytes());
    made_.bytes += static_cast<int64_t>(memory.bytes());
    return memory;
  }
  DeviceNorm norm(const std::string& name) { return {vector({name + ".weight"}), vector({name + ".bias"})}; }

  int64_t pitch(int64_t columns) const { return padded_columns(columns, made_.any_quantized); }
  std::shared_ptr<const DeviceMatrix> kept(DeviceMatrix matrix) {
    made_.bytes += matrix.bytes();
    return std::make_shared<const DeviceMatrix>(std::move(matrix));
  }
  std::shared_ptr<const DeviceMatrix> as_halves(const DecoderWeight& weight) {
    std::vector<std::byte> converted;
    MatrixRows rows = converted_rows({&weight}, halves_, converted);
    return kept(to_device(rows, halves_, pitch(rows.columns)));
  }

  // Rows of matrices, each converted to `type`; `converted` holds them.
  static MatrixRows converted_rows(const std::vector<const DecoderWeight*>& weights, WeightType type, std::vector<std::byte>& converted) {
    MatrixRows rows{type, weights.front()->columns, false, {}};
    const int64_t bytes = row_bytes(type, rows.columns);
    int64_t count = 0;
    for (const DecoderWeight* weight : weights) count += weight->rows;
    converted.resize(static_cast<size_t>(count * bytes));
    std::byte* to = converted.data();
    for (const DecoderWeight* weight : weights) {
      convert_rows(*weight, type, to);
      to += weight->rows * bytes;
    }
    for (int64_t row = 0; row < count; ++row) rows.rows.push_back(converted.data() + row * bytes);
    return rows;
  }

  // What its numbers are held in.
  WeightType held_as(const DecoderWeight& weight) const {
    if (is_quantized(weight.type)) return weight.type;
    const bool fits =
        weight.type == WeightType::f32 && is_quantized(model_.stored_as) && weight.columns % format_of(model_.stored_as).block == 0;
    return fits ? model_.stored_as : halves_;
  }

  // All of a type; where gated matrices differ they become halves.
  std::shared_ptr<const DeviceMatrix> matrix(const std::vector<const DecoderWeight*>& weights, bool gated) {
    const WeightType type = held_as(*weights.front());
    const bool alike = std::all_of(weights.begin(), weights.end(), [&](const DecoderWeight* one) { return held_as(*one) == type; });
    const WeightType held = alike ? type : halves_;
    const bool as_they_are =
        std::all_of(weights.begin(), weights.end(), [&](const DecoderWeight* one) { return one->type == weights.front()->type; }) &&
        (weights.front()->type == held || !is_quantized(held)) && !is_quantized(weights.front()->type) == !is_quantized(held);
    MatrixRows rows;
    std::vector<std::byte> converted;
    if (as_they_are) {
      for (const DecoderWeight* one : weights) rows.append(*one);
    } else {
      rows = converted_rows(weights, held, converted);
    }
    rows.gated = gated;
    made_.numbers[std::string(format_of(held).name)] += static_cast<int64_t>(rows.rows.size()) * rows.columns;
    return kept(to_device(rows, halves_, pitch(rows.columns)));
  }

  DeviceLinear linear(const std::string& name) {
    DeviceLinear made;
    made.parts.push_back(matrix({&model_.weight(name + ".weight")}, false));
    made.bias = vector({name + ".bias"});
    return made;
  }
  DeviceLinear qkv(const std::string& layer) {
    if (style_.joined_qkv) return linear(layer + "attn_qkv");
    const DecoderWeight *q = &model_.weight(layer + "attn_q.weight"), *k = &model_.weight(layer + "attn_k.weight"),
                        *v = &model_.weight(layer + "attn_v.weight");
    DeviceLinear made;
    if (held_as(*q) == held_as(*k) && held_as(*q) == held_as(*v)) {
      made.parts.push_back(matrix({q, k, v}, false));
    } else {
      for (const DecoderWeight* one : {q, k, v}) made.parts.push_back(matrix({one}, false));
    }
    made.bias = vector({layer + "attn_q.bias", layer + "attn_k.bias", layer + "attn_v.bias"});
    return made;
  }
  DeviceLinear up(const std::string& layer) {
    if (!style_.gated) return linear(layer + "ffn_up");
    DeviceLinear made;
    made.parts.push_back(matrix({&model_.weight(layer + "ffn_gate.weight"), &model_.weight(layer + "ffn_up.weight")}, true));
    made.bias = vector({layer + "ffn_gate.bias", layer + "ffn_up.bias"});
    return made;
  }
  DeviceLayer layer(const std::string& prefix) {
    DeviceLayer made;
    made.attention_norm = norm(prefix + "attn_norm");
    made.feed_forward_norm = norm(prefix + "ffn_norm");
    made.query_norm = {vector({prefix + "attn_q_norm.weight"}), std::nullopt};
    made.key_norm = {vector({prefix + "attn_k_norm.weight"}), std::nullopt};
    made.qkv = qkv(prefix);
    made.output = linear(prefix + "attn_output");
    made.up = up(prefix);
    made.down = linear(prefix + "ffn_down");
    return made;
  }

  const DecoderModel& model_;
  const DecoderStyle& style_;
  const WeightType halves_;
  DeviceDecoder made_;
};

}  // namespace

DeviceDecoder upload_decoder(const DecoderModel& model, WeightType halves) { return Uploading(model, halves).all(); }

}  // namespace deepgap::gpu
