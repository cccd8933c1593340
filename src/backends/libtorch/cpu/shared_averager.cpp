#include "backends/libtorch/cpu/shared_averager.h"

#include <deepgap/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <string>
#include <utility>

namespace deepgap {

struct alignas(64) SharedAverager::Header {
  std::atomic<uint32_t> arrived;  // ranks that arrived in this round
  std::atomic<uint32_t> round;
};

namespace {

static_assert(std::atomic<uint32_t>::is_always_lock_free, "it lies in memory that processes share");

[[noreturn]] void fail(const std::string& what, int error) {
  throw Error(ErrorKind::refused,
              fmt::format("libtorch: the processes of a training do not get to their shared memory: {}: {}", what, std::strerror(error)));
}

// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  ~Descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// Maps memory without a name in any file system, so that nothing of it stays behind whatever becomes of the ranks: the others reach it by
// the first one's descriptor until they have reported that they did.
void* share_memory(const RankExchange& exchange, int rank, size_t bytes) {
  const Descriptor own(rank == 0 ? ::memfd_create("deepgap-gradients", MFD_CLOEXEC) : -1);
  if (rank == 0 && own.get() < 0) fail("memfd_create", errno);
  if (rank == 0) {
    const int error = ::posix_fallocate(own.get(), 0, static_cast<off_t>(bytes));
    if (error == ENOMEM || error == ENOSPC) throw std::bad_alloc();
    if (error != 0) fail("memory", error);
  }
  const std::string path = exchange(rank == 0 ? fmt::format("/proc/{}/fd/{}", ::getpid(), own.get()) : "").front();
  const Descriptor found(rank == 0 ? -1 : ::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (rank != 0 && found.get() < 0) fail(path, errno);
  const int descriptor = rank == 0 ? own.get() : found.get();
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) fail("mmap", errno);
  exchange("");  // all have it
  return memory;
}

}  // namespace

SharedAverager::SharedAverager(const RankExchange& exchange, int rank, int ranks, size_t numbers)
    : rank_(rank), ranks_(ranks), numbers_(numbers) {
  bytes_ = sizeof(Header) + static_cast<size_t>(ranks_ + 1) * numbers_ * sizeof(float);
  header_ = static_cast<Header*>(share_memory(exchange, rank, bytes_));
  thread_ = std::thread([this] { serve(); });
}

SharedAverager::~SharedAverager() {
  {
    const std::lock_guard lock(mutex_);
    ending_.store(true);
  }
  wake_.notify_all();
  thread_.join();
  ::munmap(header_, bytes_);
}

std::span<float> SharedAverager::part_of(int rank, const Bucket& bucket) const {
  auto* numbers = reinterpret_cast<float*>(header_ + 1);
  return {numbers + static_cast<size_t>(rank) * numbers_ + bucket.begin, bucket.end - bucket.begin};
}

void SharedAverager::average(std::span<const at::Tensor> gradients) {
  Bucket bucket{{gradients.begin(), gradients.end()}, begun_, begun_};
  for (const at::Tensor& gradient : gradients) bucket.end += static_cast<size_t>(gradient.numel());
  begun_ = bucket.end;
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(bucket));
  }
  wake_.notify_all();
}

void SharedAverager::finish() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return waiting_.empty(); });
  begun_ = 0;
}

void SharedAverager::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return ending_.load() || !waiting_.empty(); });
    if (ending_.load()) return;
    const Bucket& bucket = waiting_.front();  // others are added behind it
    lock.unlock();
    average_now(bucket);
    lock.lock();
    waiting_.pop_front();
    if (waiting_.empty()) idle_.notify_all();
  }
}

// The last one to come lets the others go. Waiting threads sleep: the others compute on the same CPUs.
void SharedAverager::wait_for_all() {
  const uint32_t round = header_->round.load();
  if (header_->arrived.fetch_add(1) + 1 == static_cast<uint32_t>(ranks_)) {
    header_->arrived.store(0);
    header_->round.fetch_add(1);
    return;
  }
  for (int tries = 0; header_->round.load() == round && !ending_.load(); ++tries) {
    if (tries < 64)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

// Gradients are dense, in their weights' order.
void SharedAverager::average_now(const Bucket& bucket) {
  const std::span<float> own = part_of(rank_, bucket), averages = part_of(ranks_, bucket);
  size_t at = 0;
  for (const at::Tensor& gradient : bucket.gradients) {
    std::memcpy(own.data() + at, gradient.const_data_ptr(), gradient.nbytes());
    at += static_cast<size_t>(gradient.numel());
  }
  wait_for_all();
  const size_t begin = own.size() * static_cast<size_t>(rank_) / static_cast<size_t>(ranks_);
  const size_t end = own.size() * static_cast<size_t>(rank_ + 1) / static_cast<size_t>(ranks_);
  const float share = 1.0F / static_cast<float>(ranks_);
  for (size_t i = begin; i < end; ++i) {
    float sum = 0;
    for (int rank = 0; rank < ranks_; ++rank) sum += part_of(rank, bucket)[i];
    averages[i] = sum * share;
  }
  wait_for_all();
  if (ending_.load()) return;
  at = 0;
  for (const at::Tensor& gradient : bucket.gradients) {
    std::memcpy(gradient.mutable_data_ptr(), averages.data() + at, gradient.nbytes());
    at += static_cast<size_t>(gradient.numel());
  }
}

}  // namespace deepgap
