#include "scenario/session_target.h"

#include "scenario/adjacent_samples.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace deepgap {
namespace {

constexpr uint32_t not_loaded = UINT32_MAX;

// Returns the kind with which a Scenario's run ends after a failed query: any other refusal of a running engine is its own fault.
ErrorKind kind_of(const Error& error) {
  const bool keeps_kind =
      error.kind() == ErrorKind::out_of_memory || error.kind() == ErrorKind::device_lost || error.kind() == ErrorKind::refused;
  return keeps_kind ? error.kind() : ErrorKind::internal;
}

class SessionTarget final : public Target {
 public:
  SessionTarget(const SessionLoader& load, Dataset& dataset, int64_t batch, SampleLayout layout)
      : dataset_(dataset), batch_(batch), layout_(layout), position_(dataset.size(), not_loaded) {
    session_ = load([this](std::span<const Done> done) { deliver(done); });
    slots_ = std::vector<Slot>(static_cast<size_t>(session_->slots()));
    for (Slot& slot : slots_) slot.positions.reserve(static_cast<size_t>(batch));
  }

  TargetLimits limits() const override { return {batch_, static_cast<int64_t>(slots_.size())}; }

  void on_completion(TargetCompletion completion) override {
    while (delivering_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
    completion_ = std::move(completion);
  }

  void load(std::span<const uint32_t> indices) override {
    dataset_.load(indices);
    for (const uint32_t index : indices) {
      if (position_.at(index) != not_loaded) continue;
      position_[index] = static_cast<uint32_t>(loaded_.size());
      loaded_.push_back(index);
    }
    stage();
  }

  void unload(std::span<const uint32_t> indices) override {
    for (const uint32_t index : indices) {
      if (position_.at(index) != not_loaded) std::erase(loaded_, index);
      position_[index] = not_loaded;
    }
    for (size_t i = 0; i < loaded_.size(); ++i) position_[loaded_[i]] = static_cast<uint32_t>(i);
    stage();
    dataset_.unload(indices);
  }

  void submit(std::span<const Query> queries) override {
    throw_if_failed();
    for (const Query& query : queries) {
      const size_t index = free_slot();
      Slot& slot = slots_[index];
      slot.query = query.id;
      slot.positions.clear();
      for (const uint32_t sample : query.samples) slot.positions.push_back(position_of(sample));
      if (!adjacent_.views().empty()) follow_neighbours(slot.positions, loaded_.size(), adjacent_.views().size());
      slot.state.store(State::busy, std::memory_order_relaxed);
      session_->enqueue(static_cast<int>(index), slot.positions, index);
    }
  }

  bool outlive_failures(bool on) override {
    if (!session_->outlives_failures()) return false;
    outlives_failures_.store(on, std::memory_order_release);
    return true;
  }
  void flush() override { throw_if_failed(); }
  void cancel() override { session_->cancel(); }

 private:
  enum class State : uint8_t { free, busy, delivering };
  struct Slot {
    uint64_t query = 0;
    std::vector<uint32_t> positions;  // keeps its place until the slot is used again
    std::atomic<State> state{State::free};
  };

  void stage() {
    staged_.clear();
    for (const uint32_t index : loaded_) staged_.push_back(dataset_.sample(index));
    if (layout_ == SampleLayout::as_they_are) return session_->stage(staged_);
    adjacent_ = AdjacentSamples(staged_, batch_);
    session_->stage(adjacent_.views().empty() ? staged_ : adjacent_.views());
  }

  // The Scenario may submit as soon as it hears of a query, while its outputs are still being read by the completion: that is waited for.
  size_t free_slot() const {
    const auto free =
        std::find_if(slots_.begin(), slots_.end(), [](const Slot& s) { return s.state.load(std::memory_order_acquire) != State::busy; });
    if (free == slots_.end()) {
      throw Error(ErrorKind::internal, fmt::format("more queries are in flight than the session's {} slots", slots_.size()));
    }
    while (free->state.load(std::memory_order_acquire) != State::free) std::this_thread::yield();
    return static_cast<size_t>(free - slots_.begin());
  }

  uint32_t position_of(uint32_t sample) const {
    if (sample >= position_.size() || position_[sample] == not_loaded) {
      throw Error(ErrorKind::internal, fmt::format("sample {} is queried but not loaded", sample));
    }
    return position_[sample];
  }

  // Runs on any thread.
  void deliver(std::span<const Done> done) {
    delivering_.fetch_add(1, std::memory_order_acq_rel);
    while (!done.empty()) {
      std::array<Completed, 16> completed;
      const size_t count = std::min(done.size(), completed.size());
      for (size_t i = 0; i < count; ++i) completed[i] = finish(done[i]);
      if (completion_) completion_(std::span(completed).first(count));
      for (size_t i = 0; i < count; ++i) {
        slots_[done[i].tag].state.store(State::free, std::memory_order_release);
      }
      done = done.subspan(count);
    }
    delivering_.fetch_sub(1, std::memory_order_release);
  }

  Completed finish(const Done& done) {
    Slot& slot = slots_[done.tag];
    Completed completed{slot.query, 0, static_cast<uint32_t>(slot.positions.size()), done.status, done.marks};
    completed.tokens = done.tokens;
    if (done.status == Status::ok) completed.outputs = session_->outputs(static_cast<int>(done.tag));
    if (done.status == Status::failed) {
      if (outlives_failures_.load(std::memory_order_acquire)) {
        completed.error = done.error;
      } else {
        keep_failure(*done.error);
      }
    }
    slot.state.store(State::delivering, std::memory_order_release);
    return completed;
  }

  void throw_if_failed() const {
    if (!failed_.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(mutex_);
    throw Error(*failure_);
  }

  // Runs on any thread.
  void keep_failure(const Error& error) {
    const std::lock_guard lock(mutex_);
    failure_.emplace(kind_of(error), error.what());
    failed_.store(true, std::memory_order_release);
  }

  Dataset& dataset_;
  int64_t batch_;
  SampleLayout layout_;
  TargetCompletion completion_;
  std::vector<uint32_t> position_;  // Dataset index -> staged position
  std::vector<uint32_t> loaded_;    // staged position -> Dataset index
  std::vector<std::vector<TensorView>> staged_;
  AdjacentSamples adjacent_;
  std::vector<Slot> slots_;
  std::atomic<int> delivering_{0};
  std::atomic<bool> failed_{false}, outlives_failures_{false};
  mutable std::mutex mutex_;
  std::optional<Error> failure_;      // under mutex_: the last one
  std::unique_ptr<Session> session_;  // last: it may complete queries until it is gone
};

}  // namespace

std::unique_ptr<Target> make_session_target(const SessionLoader& load, Dataset& dataset, int64_t batch, SampleLayout layout) {
  return std::make_unique<SessionTarget>(load, dataset, batch, layout);
}

}  // namespace deepgap
