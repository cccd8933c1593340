// Counts what ATen's allocators handed out on this thread since this was made and did not get back: what a forward pass leaves behind.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <cstdint>
#include <memory>

namespace deepgap {

// Counts the memory of one device, for the thread that made it; nothing else listens to the allocators meanwhile.
class HeldMemory {
 public:
  explicit HeldMemory(c10::Device device);
  int64_t bytes() const;

 private:
  class Listener;
  std::shared_ptr<Listener> listener_;
  c10::DebugInfoGuard guard_;
};

}  // namespace deepgap
