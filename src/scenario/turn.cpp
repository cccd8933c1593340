#include "scenario/turn.h"

namespace deepgap {
namespace {

constexpr int64_t fewest_queries = 3;
constexpr Nanoseconds longest = 500'000'000;
constexpr Nanoseconds settling_part = 10;  // the slice over this is left out at its beginning

}  // namespace

void Turn::add(const Timing& timing) {
  if (queries_ + left_out_ == 0) first_begin_ = begin_ = timing.begin;
  end_ = timing.end;
  if (settle_ && queries_ == 0 && timing.begin - first_begin_ < slice_ / settling_part) {
    begin_ = timing.end;
    ++left_out_;
    return;
  }
  ++queries_;
  items_ += timing.samples;
  kept_.add(timing);
}

Stopping::State Turn::state() const {
  const bool full = queries_ >= fewest_queries && end_ - begin_ >= slice_;
  const bool long_enough = queries_ > 0 && end_ - first_begin_ >= longest;
  return full || long_enough ? State::enough : State::more;
}

Estimate Turn::throughput() const {
  if (queries_ == 0 || end_ <= begin_) return {};
  return {static_cast<double>(items_) / seconds(), {}, {}, queries_};
}

}  // namespace deepgap
