#include "engine/gpu/weight_packer.h"

#include "base/hash.h"
#include "model/eval/parallel.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace deepgap::gpu {
namespace {

constexpr double operations_of_packing = 1e6;  // some layers have more; all are worth a thread

}  // namespace

BufferId WeightPacker::add(GpuPlan& plan, Pack pack) {
  plan.buffers.push_back({.kind = Buffer::Kind::constant});
  orders_.push_back({&plan, static_cast<BufferId>(plan.buffers.size() - 1), std::move(pack)});
  return orders_.back().buffer;
}

// Bytes that were packed before are dropped at once, so that the host never holds the weights once for each batch size.
void WeightPacker::pack() {
  std::map<std::string, std::shared_ptr<const std::vector<std::byte>>> known;  // by the hash of their bytes
  std::mutex mutex;
  const auto work = [&](int64_t i) {
    const Order& order = orders_[static_cast<size_t>(i)];
    std::vector<std::byte> bytes = order.pack();
    const std::string hash = content_hash(bytes);
    const std::lock_guard lock(mutex);
    auto& kept = known[hash];
    if (!kept) kept = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    Buffer& buffer = order.plan->buffers[static_cast<size_t>(order.buffer)];
    buffer.data = kept;
    buffer.bytes = kept->size();
  };
  parallel_for(static_cast<int64_t>(orders_.size()), operations_of_packing, work);
  orders_.clear();
}

}  // namespace deepgap::gpu
