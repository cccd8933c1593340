#include "backends/libtorch/cpu/shared_all_reduce.h"

#include <deepgap/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace deepgap {

struct alignas(64) SharedAllReduce::Header {
  std::atomic<uint32_t> arrived;  // of this round
  std::atomic<uint32_t> round;
};

namespace {

static_assert(std::atomic<uint32_t>::is_always_lock_free, "it lies in memory that processes share");

// A file of so many zeros, mapped; the same for all who open it.
void* map_shared(const std::string& path, size_t bytes) {
  const auto fail = [&](const char* what) {
    throw Error(ErrorKind::refused,
                fmt::format("libtorch: the processes of a training cannot meet in {}: {}: {}", path, what, std::strerror(errno)));
  };
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) fail("open");
  struct stat found {};
  if (::fstat(file, &found) != 0 || found.st_uid != ::geteuid() || (found.st_size != 0 && found.st_size != static_cast<off_t>(bytes))) {
    ::close(file);
    errno = EEXIST;
    fail("it is another one's, or was made for other weights");
  }
  void* memory = MAP_FAILED;
  if (::posix_fallocate(file, 0, static_cast<off_t>(bytes)) == 0)
    memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (memory == MAP_FAILED) fail("memory");
  return memory;
}

}  // namespace

SharedAllReduce::SharedAllReduce(const std::string& path, int rank, int ranks, std::vector<at::Tensor> weights)
    : rank_(rank), ranks_(ranks), weights_(std::move(weights)) {
  for (const at::Tensor& weight : weights_) numbers_ += static_cast<size_t>(weight.numel());
  bytes_ = sizeof(Header) + static_cast<size_t>(ranks_ + 1) * numbers_ * sizeof(float);
  header_ = static_cast<Header*>(map_shared(path, bytes_));
  wait_for_all();
  if (rank_ == 0) ::unlink(path.c_str());
}

SharedAllReduce::~SharedAllReduce() { ::munmap(header_, bytes_); }

std::span<float> SharedAllReduce::part_of(int rank) const {
  auto* numbers = reinterpret_cast<float*>(header_ + 1);
  return {numbers + static_cast<size_t>(rank) * numbers_, numbers_};
}

// The last one to come lets the others go. Waiting threads sleep: the others compute on the same CPUs.
void SharedAllReduce::wait_for_all() {
  const uint32_t round = header_->round.load();
  if (header_->arrived.fetch_add(1) + 1 == static_cast<uint32_t>(ranks_)) {
    header_->arrived.store(0);
    header_->round.fetch_add(1);
    return;
  }
  for (int tries = 0; header_->round.load() == round; ++tries) {
    if (tries < 64)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void SharedAllReduce::finish() {
  size_t at = 0;
  const std::span<float> own = part_of(rank_), averages = part_of(ranks_);
  for (const at::Tensor& weight : weights_) {
    const at::Tensor gradient = weight.grad();  // dense, in its weight's order
    std::memcpy(own.data() + at, gradient.const_data_ptr(), gradient.nbytes());
    at += static_cast<size_t>(gradient.numel());
  }
  wait_for_all();
  const size_t begin = numbers_ * static_cast<size_t>(rank_) / static_cast<size_t>(ranks_);
  const size_t end = numbers_ * static_cast<size_t>(rank_ + 1) / static_cast<size_t>(ranks_);
  const float share = 1.0F / static_cast<float>(ranks_);
  for (size_t i = begin; i < end; ++i) {
    float sum = 0;
    for (int rank = 0; rank < ranks_; ++rank) sum += part_of(rank)[i];
    averages[i] = sum * share;
  }
  wait_for_all();
  at = 0;
  for (const at::Tensor& weight : weights_) {
    const at::Tensor gradient = weight.grad();
    std::memcpy(gradient.mutable_data_ptr(), averages.data() + at, gradient.nbytes());
    at += static_cast<size_t>(gradient.numel());
  }
}

}  // namespace deepgap
