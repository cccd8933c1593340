#include "scenario/flight.h"

#include "scenario/failed_query.h"
#include "scenario/query_number.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace deepgap {

Flight::Flight(const Traffic& traffic, Clock& clock, int64_t in_flight) : traffic_(traffic), queue_(std::make_shared<CompletionQueue>()) {
  const TargetLimits limits = traffic.target->limits();
  if (in_flight > limits.max_in_flight) {
    throw Error(ErrorKind::usage,
                fmt::format("in_flight={} asks for more queries at a time than the {} this target takes", in_flight, limits.max_in_flight));
  }
  if (traffic.batch < 1 || traffic.batch > limits.max_samples) {
    throw Error(ErrorKind::usage,
                fmt::format("batch {} is not between 1 and the {} samples this target takes", traffic.batch, limits.max_samples));
  }
  if (traffic.samples.empty()) throw Error(ErrorKind::internal, "a scenario needs at least one loaded sample");
  const auto batch = static_cast<size_t>(traffic.batch);
  while (samples_.size() < traffic.samples.size() + batch) samples_.insert(samples_.end(), traffic.samples.begin(), traffic.samples.end());
  slots_.resize(static_cast<size_t>(in_flight));
  for (size_t i = 0; i < slots_.size(); ++i) free_.push_back(static_cast<uint32_t>(i));
  free_count_ = free_.size();
  outgoing_.reserve(slots_.size());
  finished_.reserve(slots_.size());
  outlives_failures_ = traffic.failures != nullptr && traffic.target->outlive_failures(true);
  traffic.target->on_completion([queue = queue_, &clock](std::span<const Completed> completed) {
    if (queue->push(completed, clock.now())) clock.notify();
  });
}

Flight::~Flight() {
  traffic_.target->on_completion({});
  if (outlives_failures_) traffic_.target->outlive_failures(false);
}

Nanoseconds Flight::add(Nanoseconds scheduled, Nanoseconds begin, int64_t samples) {
  const uint32_t index = free_[free_first_];
  if (++free_first_ == free_.size()) free_first_ = 0;
  --free_count_;
  const auto count = static_cast<uint32_t>(samples);
  const Nanoseconds punctual = std::max(scheduled, slots_[index].punctual);
  slots_[index] = {next_number_, scheduled, begin, punctual, count, count, false};
  outgoing_.push_back(
      {next_number_ | uint64_t{index} << query_number_bits, scheduled, std::span<const uint32_t>(samples_).subspan(cursor_, count)});
  ++next_number_;
  cursor_ += count;
  if (cursor_ >= traffic_.samples.size()) cursor_ %= traffic_.samples.size();
  return begin - punctual;
}

void Flight::send() {
  if (outgoing_.empty()) return;
  traffic_.target->submit(outgoing_);
  outgoing_.clear();
}

std::span<const Timing> Flight::collect() {
  const auto entries = queue_->take();
  took_any_ = !entries.empty();
  finished_.clear();
  errors_.clear();
  for (const auto& entry : entries) settle(entry);
  return finished_;
}

bool Flight::await_completions(bool on) {
  if (std::exchange(awaits_completions_, on) == on) return true;
  return queue_->wake_for_each(on) || !on;
}

void Flight::settle(const CompletionQueue::Entry& entry) {
  Slot& slot = slot_of(entry.query);
  if (entry.status == Status::failed) {
    if (!outlives_failures_) end_on_failure(*traffic_.target, slot.number);
    slot.failed = true;
    errors_.emplace_back(slot.number, entry.error);
  }
  if (entry.count > slot.remaining) {
    throw Error(ErrorKind::internal,
                fmt::format("query {} had more samples answered than it has: the target answered one twice", slot.number));
  }
  slot.remaining -= entry.count;
  if (slot.remaining > 0) return;
  slot.punctual += entry.end - slot.begin;
  free_[(free_first_ + free_count_++) % free_.size()] = static_cast<uint32_t>(&slot - slots_.data());
  const Status status = slot.failed ? Status::failed : entry.status;
  if (!cancelled_) finished_.push_back({slot.number, slot.scheduled, slot.begin, entry.end, slot.samples, status});
}

std::string Flight::why_failed(const Timing& timing) const {
  for (const auto& [number, error] : errors_) {
    if (number == timing.query && error != nullptr) return error->what();
  }
  return "a part of it failed";
}

Flight::Slot& Flight::slot_of(uint64_t query) {
  const size_t index = query >> query_number_bits;
  const uint64_t number = query_number(query);
  if (number >= next_number_ || index >= slots_.size()) {
    throw Error(ErrorKind::internal, fmt::format("the target answered a query {} that it was never given", number));
  }
  if (slots_[index].number != number || slots_[index].remaining == 0) {
    throw Error(ErrorKind::internal, fmt::format("the target answered query {} twice", number));
  }
  return slots_[index];
}

void note_failures(const Traffic& traffic, const Flight& flight, const Timing& timing) {
  if (timing.status == Status::failed) traffic.failures->add(timing.begin, timing.end, flight.why_failed(timing));
  if (timing.status == Status::ok) traffic.failures->answered();
}

void Flight::cancel() {
  cancelled_ = true;
  traffic_.target->cancel();
}

}  // namespace deepgap
