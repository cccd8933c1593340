#include "backends/libtorch/train/held_memory.h"

#include <atomic>

namespace deepgap {

class HeldMemory::Listener final : public c10::MemoryReportingInfoBase {
 public:
  explicit Listener(c10::Device device) : device_(device) {}
  void reportMemoryUsage(void* /*where*/, int64_t bytes, size_t /*allocated*/, size_t /*reserved*/, c10::Device device) override {
    if (device.type() == device_.type()) bytes_ += bytes;
  }
  bool memoryProfilingEnabled() const override { return true; }
  int64_t bytes() const { return bytes_; }

 private:
  c10::Device device_;
  std::atomic<int64_t> bytes_ = 0;
};

HeldMemory::HeldMemory(c10::Device device)
    : listener_(std::make_shared<Listener>(device)), guard_(c10::DebugInfoKind::PROFILER_STATE, listener_) {}

int64_t HeldMemory::bytes() const { return listener_->bytes(); }

}  // namespace deepgap
