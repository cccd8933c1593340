// Bytes of a slot.
#pragma once

#include <deepgap/tensor.h>

#include <cstring>

namespace deepgap {

// Touched when made, at load, so that no query pays for page faults. 64-byte aligned.
class SlotBuffer {
 public:
  explicit SlotBuffer(size_t bytes) : tensor_(make_tensor(DataType::u8, {static_cast<int64_t>(bytes)})) { std::memset(data(), 0, bytes); }
  std::byte* data() { return writable<std::byte>(tensor_).data(); }
  size_t bytes() const { return tensor_.bytes(); }

 private:
  Tensor tensor_;
};

}  // namespace deepgap
