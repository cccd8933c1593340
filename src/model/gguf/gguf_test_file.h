// For tests: GGUF files, written number by number.
#pragma once

#include "base/file.h"
#include "model/gguf/weight_type.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace deepgap::test_files {

class GgufWriter {
 public:
  GgufWriter& text(const std::string& key, const std::string& value) { return entry(key, 8, string(value)); }
  GgufWriter& number(const std::string& key, uint32_t value) { return entry(key, 4, bytes(value)); }
  GgufWriter& real(const std::string& key, float value) { return entry(key, 6, bytes(value)); }
  GgufWriter& texts(const std::string& key, const std::vector<std::string>& values) {
    std::string list = bytes<uint32_t>(8) + bytes<uint64_t>(values.size());
    for (const std::string& value : values) list += string(value);
    return entry(key, 9, list);
  }
  // Sizes outermost first.
  GgufWriter& tensor(const std::string& name, const std::vector<uint64_t>& shape, uint32_t type, const std::string& data) {
    infos_ += string(name) + bytes(static_cast<uint32_t>(shape.size()));
    for (size_t i = shape.size(); i > 0; --i) infos_ += bytes(shape[i - 1]);
    infos_ += bytes(type) + bytes<uint64_t>(data_.size());
    data_ += data;
    data_.resize((data_.size() + 31) / 32 * 32);
    ++tensors_;
    return *this;
  }
  std::string content(uint32_t version = 3) const {
    std::string all = "GGUF" + bytes(version) + bytes(tensors_) + bytes(values_) + metadata_ + infos_;
    all.resize((all.size() + 31) / 32 * 32);
    return all + data_;
  }

  template <typename T>
  static std::string bytes(T value) {
    std::string all(sizeof value, '\0');
    std::memcpy(all.data(), &value, sizeof value);
    return all;
  }
  static std::string string(const std::string& value) { return bytes<uint64_t>(value.size()) + value; }

 private:
  GgufWriter& entry(const std::string& key, uint32_t kind, const std::string& value) {
    metadata_ += string(key) + bytes(kind) + value;
    ++values_;
    return *this;
  }

  uint64_t tensors_ = 0, values_ = 0;
  std::string metadata_, infos_, data_;
};

// Returns a mapped file in memory of exactly its size, so that a sanitizer sees what is read beyond it.
inline MappedFile as_file(const std::string& content) {
  auto* copy = new std::byte[content.size()];
  std::memcpy(copy, content.data(), content.size());
  return {std::shared_ptr<const std::byte>(copy, std::default_delete<const std::byte[]>()), content.size()};
}

inline std::string floats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

// A Llama of one layer: 4 numbers a token, 2 heads, 8 tokens. Weights are made of their names and places.
inline GgufWriter tiny_llama() {
  GgufWriter file;
  file.text("general.architecture", "llama").number("llama.block_count", 1).number("llama.context_length", 64);
  file.number("llama.embedding_length", 8).number("llama.feed_forward_length", 12).number("llama.attention.head_count", 2);
  file.number("llama.attention.head_count_kv", 1).real("llama.attention.layer_norm_rms_epsilon", 1e-5F);
  const auto matrix = [&](const std::string& name, uint64_t rows, uint64_t columns) {
    std::vector<float> values;
    for (size_t i = 0; i < rows * columns; ++i)
      values.push_back(static_cast<float>(static_cast<int>((i * 37 + name.size() * 11) % 41) - 20) / 40);
    file.tensor(name, {rows, columns}, 0, floats(values));
  };
  const auto vector = [&](const std::string& name, uint64_t size) { file.tensor(name, {size}, 0, floats(std::vector<float>(size, 1))); };
  matrix("token_embd.weight", 8, 8);
  vector("output_norm.weight", 8);
  vector("blk.0.attn_norm.weight", 8);
  matrix("blk.0.attn_q.weight", 8, 8);
  matrix("blk.0.attn_k.weight", 4, 8);
  matrix("blk.0.attn_v.weight", 4, 8);
  matrix("blk.0.attn_output.weight", 8, 8);
  vector("blk.0.ffn_norm.weight", 8);
  matrix("blk.0.ffn_gate.weight", 12, 8);
  matrix("blk.0.ffn_up.weight", 12, 8);
  matrix("blk.0.ffn_down.weight", 8, 12);
  return file;
}

}  // namespace deepgap::test_files
