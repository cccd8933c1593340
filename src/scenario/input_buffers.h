// InputBuffers: the Dataset of Sessions that are fed end to end. Its samples are buffers, one behind the other: what is written there is
// what a query computes on. For that a Session is loaded with samples_change (backend.h); one that copied samples when they were staged
// would compute on zeros, which the check of its outputs finds.
#pragma once

#include <deepgap/dataset.h>

#include <cstring>
#include <string>
#include <vector>

namespace deepgap {

class InputBuffers final : public Dataset {
 public:
  // `item`: type and shape of a sample's only input, batch dimension 1.
  InputBuffers(const TensorView& item, int64_t count)
      : type_(item.type),
        shape_(item.shape.begin(), item.shape.end()),
        item_bytes_(item.bytes()),
        count_(static_cast<size_t>(count)),
        block_(make_tensor(DataType::u8, {count, static_cast<int64_t>(item_bytes_)})) {
    std::memset(writable<std::byte>(block_).data(), 0, block_.bytes());  // touched, so that no query pays for page faults
  }
  std::span<std::byte> buffer(uint32_t index) { return writable<std::byte>(block_).subspan(index * item_bytes_, item_bytes_); }

  std::string describe() const override { return "inputs of queries"; }
  size_t size() const override { return count_; }
  void load(std::span<const uint32_t> /*indices*/) override {}
  void unload(std::span<const uint32_t> /*indices*/) override {}
  std::vector<TensorView> sample(uint32_t index) const override { return {{type_, shape_, block_.data.get() + index * item_bytes_}}; }

 private:
  DataType type_;
  Shape shape_;
  size_t item_bytes_, count_;
  Tensor block_;
};

}  // namespace deepgap
