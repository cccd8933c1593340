// Buffers that stand for a device's memory.
#pragma once

#include <deepgap/error.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <utility>

namespace deepgap::gpu {

// Filled with no number, aligned to 16 bytes, and followed within 15 bytes by a page that cannot be read: a kernel that goes past its end
// dies here, where a GPU would read what lies beside it in the arena.
class GuardedMemory {
 public:
  explicit GuardedMemory(size_t bytes) {
    const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    const size_t used = (bytes + 15) / 16 * 16, pages = (used + page - 1) / page * page;
    mapped_ = pages + page;
    map_ = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map_ == MAP_FAILED || ::mprotect(static_cast<std::byte*>(map_) + pages, page, PROT_NONE) != 0)
      throw Error(ErrorKind::internal, "no memory for a buffer");
    begin_ = static_cast<std::byte*>(map_) + pages - used;
    std::memset(begin_, 0xcd, used);  // what nothing wrote is not a number
  }
  GuardedMemory(GuardedMemory&& other) noexcept
      : map_(std::exchange(other.map_, MAP_FAILED)), mapped_(other.mapped_), begin_(other.begin_) {}
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  GuardedMemory& operator=(GuardedMemory&&) = delete;
  ~GuardedMemory() {
    if (map_ != MAP_FAILED) ::munmap(map_, mapped_);
  }
  std::byte* begin() const { return begin_; }

 private:
  void* map_ = MAP_FAILED;
  size_t mapped_ = 0;
  std::byte* begin_ = nullptr;
};

}  // namespace deepgap::gpu
