// Marks when the parts of a step ended: where the parts alternate, each is laid out at its whole length.
#pragma once

#include "backends/libtorch/train/torch_trainer.h"

#include <deepgap/session.h>

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>

namespace deepgap {

class StepClock {
 public:
  explicit StepClock(std::function<Nanoseconds()> now) : now_(std::move(now)) {}
  void begin() { begin_ = last_ = now_(); }
  void ended(TrainPart part) {
    const Nanoseconds now = now_();
    lengths_[static_cast<size_t>(part)] += now - std::exchange(last_, now);
    reduced_ = reduced_ || part == TrainPart::allreduce;
  }
  void end() { end_ = now_(); }
  // compute_begin, forward_end, backward_end, allreduce_end where there was one, compute_end, returned. Returns how many.
  size_t put(std::span<Mark> marks) const {
    size_t count = 0;
    const auto add = [&](MarkId id, Nanoseconds ns) { marks[count++] = {id, 0, ns}; };
    const Nanoseconds forward_end = begin_ + lengths_[0], backward_end = forward_end + lengths_[1];
    add(MarkId::compute_begin, begin_);
    add(MarkId::forward_end, forward_end);
    add(MarkId::backward_end, backward_end);
    if (reduced_) add(MarkId::allreduce_end, backward_end + lengths_[2]);
    add(MarkId::compute_end, end_);
    add(MarkId::returned, end_);
    return count;
  }

 private:
  std::function<Nanoseconds()> now_;
  Nanoseconds begin_ = 0, last_ = 0, end_ = 0;
  std::array<Nanoseconds, 3> lengths_{};
  bool reduced_ = false;
};

}  // namespace deepgap
