// For tests: another table in the place of a library's for as long as this lives. One at a time of each; no other thread calls the library
// as it comes and goes. The table outlives it.
#pragma once

namespace deepgap::cuda {

template <typename Table>
class StandIn {
 public:
  explicit StandIn(const Table& table) { current_ = &table; }
  ~StandIn() { current_ = nullptr; }
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;

  static const Table* current() { return current_; }  // nullptr: the library itself

 private:
  static inline const Table* current_ = nullptr;
};

}  // namespace deepgap::cuda
