// Dataset: where Samples come from. Implementations are in src/dataset; one is chosen by the Point's `dataset`.
#pragma once

#include <deepgap/tensor.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

// Only sample() and label() of loaded samples are thread-safe. Decoding and preprocessing happen in load().
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::string describe() const = 0;  // for Records: kind, seed or folder, preprocessing
  virtual size_t size() const = 0;
  // Throws Error{input} naming the file when one cannot be read or decoded.
  virtual void load(std::span<const uint32_t> indices) = 0;
  virtual void unload(std::span<const uint32_t> indices) = 0;
  // Returns the input tensors of a loaded sample, batch dimension 1, in the Graph's input order. They are valid until it is unloaded.
  virtual std::vector<TensorView> sample(uint32_t index) const = 0;
  virtual std::optional<int64_t> label(uint32_t /*index*/) const { return std::nullopt; }
  virtual std::string sample_name(uint32_t index) const { return std::to_string(index); }
};

}  // namespace deepgap
