#include "scenario/closed_loop.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace deepgap {

void CompletionQueue::push(std::span<const Completed> completed, Nanoseconds end) {
  const std::lock_guard lock(mutex_);
  for (const Completed& c : completed) {
    // A streamed part finishes nothing; the last one of a range does.
    if (c.last) incoming_.push_back({c.query, c.first, c.count, c.status, end});
  }
}

std::span<const CompletionQueue::Entry> CompletionQueue::take() {
  taken_.clear();
  const std::lock_guard lock(mutex_);
  std::swap(incoming_, taken_);
  return taken_;
}

ClosedLoop::ClosedLoop(Tenant& tenant, Clock& clock, int64_t in_flight)
    : tenant_(tenant), clock_(clock), queue_(std::make_shared<CompletionQueue>()) {
  const TargetLimits limits = tenant.target->limits();
  if (in_flight > limits.max_in_flight) {
    throw Error(ErrorKind::usage,
                fmt::format("in_flight={} asks for more queries at a time than the {} this target takes", in_flight, limits.max_in_flight));
  }
  if (tenant.batch < 1 || tenant.batch > limits.max_samples) {
    throw Error(ErrorKind::usage,
                fmt::format("batch {} is not between 1 and the {} samples this target takes", tenant.batch, limits.max_samples));
  }
  if (tenant.samples.empty()) throw Error(ErrorKind::internal, "a scenario needs at least one loaded sample");
  const auto batch = static_cast<size_t>(tenant.batch);
  while (samples_.size() < tenant.samples.size() + batch) samples_.insert(samples_.end(), tenant.samples.begin(), tenant.samples.end());
  in_flight_.resize(static_cast<size_t>(in_flight));
  for (size_t i = in_flight_.size(); i-- > 0;) free_.push_back(static_cast<uint32_t>(i));
  finished_.reserve(in_flight_.size());
  tenant.target->on_completion([queue = queue_, &clock](std::span<const Completed> completed) {
    queue->push(completed, clock.now());
    clock.notify();
  });
}

ClosedLoop::~ClosedLoop() { tenant_.target->on_completion({}); }

void ClosedLoop::fill() {
  const auto batch = static_cast<size_t>(tenant_.batch);
  while (!free_.empty()) {
    InFlight& entry = in_flight_[free_.back()];
    free_.pop_back();
    const std::span<const uint32_t> samples = std::span<const uint32_t>(samples_).subspan(cursor_, batch);
    cursor_ = (cursor_ + batch) % tenant_.samples.size();
    entry = {next_query_++, clock_.now(), static_cast<uint32_t>(batch)};
    const Query query{entry.query, entry.begin, samples};
    tenant_.target->submit(std::span(&query, 1));
  }
}

bool ClosedLoop::collect() {
  const auto entries = queue_->take();
  finished_.clear();
  for (const auto& entry : entries) record(entry);
  for (const Timing& timing : finished_) {
    // In the middle of a handful of completions the Stopping may have enough: it sees one at a time, so that counts are exact.
    if (!recording_ || has_enough()) break;
    tenant_.sink->add(timing);
    tenant_.stopping->add(std::span(&timing, 1));
  }
  return !entries.empty();
}

void ClosedLoop::record(const CompletionQueue::Entry& entry) {
  InFlight& query = find(entry.query);
  if (entry.count > query.remaining) {
    throw Error(ErrorKind::internal, fmt::format("query {} had more samples completed than it has", entry.query));
  }
  if (entry.status == Status::failed) {
    recording_ = false;
    tenant_.target->cancel();
    tenant_.target->flush();  // throws with the engine's reason where the Target knows it
    throw Error(ErrorKind::internal, fmt::format("the engine failed on query {} and gave no reason", entry.query));
  }
  query.remaining -= entry.count;
  if (query.remaining > 0) return;
  free_.push_back(static_cast<uint32_t>(&query - in_flight_.data()));
  if (entry.status == Status::ok) {
    finished_.push_back({entry.query, query.begin, query.begin, entry.end, static_cast<uint32_t>(tenant_.batch), Status::ok});
  }
}

ClosedLoop::InFlight& ClosedLoop::find(uint64_t query) {
  const auto found =
      std::find_if(in_flight_.begin(), in_flight_.end(), [query](const InFlight& f) { return f.remaining > 0 && f.query == query; });
  if (found == in_flight_.end()) throw Error(ErrorKind::internal, fmt::format("query {} completed but is not in flight", query));
  return *found;
}

void ClosedLoop::cancel() {
  recording_ = false;
  tenant_.target->cancel();
}

namespace {

bool collect_all(std::span<const std::unique_ptr<ClosedLoop>> loops) {
  bool any = false;
  for (const auto& loop : loops) any |= loop->collect();
  return any;
}

void wait_until_idle(std::span<const std::unique_ptr<ClosedLoop>> loops, Clock& clock) {
  const auto busy = [&] { return std::any_of(loops.begin(), loops.end(), [](const auto& loop) { return !loop->idle(); }); };
  while (busy()) {
    if (!collect_all(loops)) clock.wait_until(never);
  }
}

}  // namespace

void drive_closed_loops(std::span<Tenant> tenants, Clock& clock, const std::atomic<bool>& interrupted, int64_t in_flight) {
  std::vector<std::unique_ptr<ClosedLoop>> loops;
  for (Tenant& tenant : tenants) loops.push_back(std::make_unique<ClosedLoop>(tenant, clock, in_flight));
  const auto enough = [&] { return std::all_of(loops.begin(), loops.end(), [](const auto& loop) { return loop->has_enough(); }); };
  while (!enough() && !interrupted.load(std::memory_order_relaxed)) {
    for (const auto& loop : loops) loop->fill();
    // A wait for ever is right: a completion ends it, and a Target that never completes is for the parent's time-out.
    if (!collect_all(loops)) clock.wait_until(never);
  }
  for (const auto& loop : loops) loop->stop_recording();
  if (interrupted.load(std::memory_order_relaxed)) {
    for (const auto& loop : loops) loop->cancel();
  }
  wait_until_idle(loops, clock);
}

}  // namespace deepgap
