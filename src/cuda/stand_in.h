// For tests: another table in the place of a library's for as long as this lives, then the one before it. They end in the reverse order of
// their beginning; no other thread calls the library as one comes or goes. The table outlives it.
#pragma once

#include <utility>

namespace deepgap::cuda {

template <typename Table>
class StandIn {
 public:
  explicit StandIn(const Table& table) : before_(std::exchange(current_, &table)) {}
  ~StandIn() { current_ = before_; }
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;

  static const Table* current() { return current_; }  // nullptr: the library itself

 private:
  static inline const Table* current_ = nullptr;
  const Table* before_;
};

}  // namespace deepgap::cuda
