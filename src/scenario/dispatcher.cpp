#include "scenario/dispatcher.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <utility>

namespace deepgap {
namespace {

// Queries that a Scenario may submit at a time beyond what can wait or be in work, so that shedding is decided here and not by it.
constexpr int64_t shedding_margin = 64;

// Hands Completed on in small groups: a call costs more than an entry.
class Outbox {
 public:
  explicit Outbox(const TargetCompletion& completion) : completion_(completion) {}
  void add(const Completed& completed) {
    if (count_ == entries_.size()) send();
    entries_[count_++] = completed;
  }
  void send() {
    if (count_ > 0 && completion_) completion_(std::span(entries_).first(count_));
    count_ = 0;
  }

 private:
  const TargetCompletion& completion_;
  std::array<Completed, 16> entries_;
  size_t count_ = 0;
};

// The work that one instance may have at a time; each has a place of its own, written by the scenario's thread before submit() and read by
// the completion's until `finished`.
struct Batch {
  size_t instance = 0;
  std::vector<QueryPart> parts;
  std::vector<uint32_t> samples;
  std::atomic<uint32_t> remaining{0};
  std::atomic<bool> finished{false};
};

class QueueingDispatcher final : public Dispatcher {
 public:
  QueueingDispatcher(std::vector<DispatcherInstance> instances, const DispatcherSettings& settings, Clock& clock)
      : settings_(settings), clock_(clock), waiting_(settings.priorities) {
    for (DispatcherInstance& instance : instances) add_instance(std::move(instance));
    if (settings_.queue_limit == 0) settings_.queue_limit = queries_in_work();
    reset_log();
  }

  TargetLimits limits() const override {
    const int64_t margin = settings_.shedding == Shedding::none ? 0 : shedding_margin;
    return {INT32_MAX, std::max(settings_.least_in_flight, queries_in_work() + settings_.queue_limit + margin)};
  }

  void on_completion(TargetCompletion completion) override {
    while (delivering_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
    completion_ = std::move(completion);
  }

  void load(std::span<const uint32_t> indices) override {
    for (Instance& instance : instances_) instance.target->load(indices);
  }
  void unload(std::span<const uint32_t> indices) override {
    for (Instance& instance : instances_) instance.target->unload(indices);
  }

  void submit(std::span<const Query> queries) override {
    flushing_ = false;
    const Nanoseconds now = clock_.now();
    for (const Query& query : queries) {
      ++log_.queries;
      if (waiting_.queries() >= settings_.queue_limit) send_on();
      if (waiting_.queries() < settings_.queue_limit || settings_.shedding == Shedding::none || make_room_for(query)) {
        waiting_.push(query, now);
      }
    }
    log_.depth.note(now, waiting_.queries());
    send_on();
  }

  bool outlive_failures(bool on) override {
    bool all = true;
    for (Instance& instance : instances_) all = instance.target->outlive_failures(on) && all;
    return all;
  }

  void flush() override {
    flushing_ = true;
    send_on();
    for (Instance& instance : instances_) {
      named(instance, [&] { instance.target->flush(); });
    }
  }

  void cancel() override {
    Outbox outbox(completion_);
    while (const auto left = waiting_.pop()) outbox.add({left->query, left->first, left->count, Status::cancelled});
    outbox.send();
    for (Instance& instance : instances_) instance.target->cancel();
  }

  DispatcherLog take_log() override {
    DispatcherLog log = std::exchange(log_, {});
    reset_log();
    return log;
  }

 private:
  struct Instance {
    std::string name;
    std::shared_ptr<Target> target;
    std::vector<size_t> free;  // indices into batches_
    int64_t samples = 0;       // in work
  };

  void add_instance(DispatcherInstance given) {
    const TargetLimits limits = given.target->limits();
    if (limits.max_samples < settings_.max_batch) {
      throw Error(ErrorKind::usage, fmt::format("max_batch={} is more than the {} samples that {} takes", settings_.max_batch,
                                                limits.max_samples, given.name));
    }
    const size_t index = instances_.size();
    Instance& instance = instances_.emplace_back(Instance{std::move(given.name), std::move(given.target), {}, 0});
    for (int64_t i = 0; i < limits.max_in_flight; ++i) {
      instance.free.push_back(batches_.size());
      batches_.emplace_back(std::make_unique<Batch>())->instance = index;
    }
    instance.target->on_completion([this](std::span<const Completed> completed) { deliver(completed); });
  }

  // Returns the most queries: every place in an instance holds a full batch.
  int64_t queries_in_work() const {
    const int64_t of_a_batch = (settings_.max_batch + settings_.query_samples - 1) / settings_.query_samples;
    return of_a_batch * static_cast<int64_t>(batches_.size());
  }

  // The reason an instance gives, with its name where there are several.
  template <typename Action>
  void named(const Instance& instance, Action action) const {
    if (instances_.size() == 1) return action();
    try {
      action();
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("{}: {}", instance.name, error.what()));
    }
  }

  // False: it is the new query itself that must go.
  bool make_room_for(const Query& query) {
    ++log_.shed;
    const auto victim = waiting_.make_room(query.priority, settings_.shedding);
    Completed gone{query.id, 0, static_cast<uint32_t>(query.samples.size()), Status::cancelled};
    if (victim) gone = {victim->query, victim->first, victim->count, Status::cancelled};
    gone.shed = true;
    if (completion_) completion_(std::span(&gone, 1));
    return victim.has_value();
  }

  // Scenario's thread: sends what is due to whoever has room, and sees to it that the next deadline is kept.
  void send_on() {
    asked_.exchange(false, std::memory_order_acq_rel);  // what was finished before it was asked is seen below
    reclaim();
    while (waiting_.samples() > 0 && is_due()) {
      Instance* instance = choose();
      if (instance == nullptr) return;  // whoever has room next asks for another look
      send_batch(*instance);
      reclaim();
    }
    keep_deadline();
  }

  bool is_due() const {
    return waiting_.samples() >= settings_.max_batch || flushing_ || waiting_.queries() >= settings_.queue_limit ||
           clock_.now() - waiting_.oldest() >= settings_.max_delay;
  }

  void keep_deadline() {
    if (waiting_.samples() == 0) return;
    const Nanoseconds deadline = waiting_.oldest() + settings_.max_delay;
    if (deadline >= deadline_) return;
    deadline_ = deadline;
    clock_.schedule(deadline, [this, alive = std::weak_ptr<int>(alive_)] {
      if (alive.expired()) return;
      deadline_ = never;
      send_on();
    });
  }

  // Takes back the places of finished batches.
  void reclaim() {
    while (reclaimed_ != finished_.load(std::memory_order_acquire)) {
      for (size_t i = 0; i < batches_.size(); ++i) {
        Batch& batch = *batches_[i];
        if (!batch.finished.load(std::memory_order_acquire)) continue;
        batch.finished.store(false, std::memory_order_relaxed);
        Instance& instance = instances_[batch.instance];
        for (const QueryPart& part : batch.parts) instance.samples -= part.count;
        instance.free.push_back(i);
        ++reclaimed_;
      }
    }
  }

  Instance* choose() {
    Instance* best = nullptr;
    size_t best_turn = 0;
    for (size_t i = 0; i < instances_.size(); ++i) {
      const size_t turn = (turn_ + i) % instances_.size();
      Instance& instance = instances_[turn];
      if (instance.free.empty()) continue;
      if (best != nullptr && (settings_.choice == InstanceChoice::round_robin || instance.samples >= best->samples)) continue;
      best = &instance;
      best_turn = turn;
    }
    if (best != nullptr) turn_ = best_turn + 1;
    return best;
  }

  void send_batch(Instance& instance) {
    const size_t index = instance.free.back();
    Batch& batch = *batches_[index];
    const int64_t count = std::min(settings_.max_batch, waiting_.samples());
    batch.parts.clear();
    batch.samples.clear();
    waiting_.cut(count, batch.parts, batch.samples);
    const int64_t size = padded(count);
    batch.samples.resize(static_cast<size_t>(size), batch.samples.back());
    batch.remaining.store(static_cast<uint32_t>(size), std::memory_order_relaxed);
    instance.free.pop_back();
    instance.samples += count;
    note_batch(batch, count, size - count);
    const Query query{index, clock_.now(), batch.samples};
    named(instance, [&] { instance.target->submit(std::span(&query, 1)); });
  }

  int64_t padded(int64_t count) const {
    const auto size = std::lower_bound(settings_.batch_sizes.begin(), settings_.batch_sizes.end(), count);
    return size == settings_.batch_sizes.end() ? count : *size;
  }

  void note_batch(const Batch& batch, int64_t count, int64_t padding) {
    ++log_.batches[static_cast<size_t>(count)];
    ++log_.instances[batch.instance].batches;
    log_.instances[batch.instance].samples += count;
    log_.padding += padding;
    const Nanoseconds now = clock_.now();
    log_.depth.note(now, waiting_.queries());
    log_.sizes.note(now, count);
  }

  void reset_log() {
    log_.batches.assign(static_cast<size_t>(settings_.max_batch) + 1, 0);
    for (const Instance& instance : instances_) log_.instances.push_back({instance.name, 0, 0});
    log_.depth.note(clock_.now(), waiting_.queries());
  }

  // Any thread.
  void deliver(std::span<const Completed> completed) {
    delivering_.fetch_add(1, std::memory_order_acq_rel);
    bool has_room = false;
    for (const Completed& range : completed) {
      Batch& batch = *batches_.at(range.query);
      deliver_parts(batch, range);
      if (batch.remaining.fetch_sub(range.count, std::memory_order_acq_rel) != range.count) continue;
      batch.finished.store(true, std::memory_order_release);
      finished_.fetch_add(1, std::memory_order_release);
      has_room = true;
    }
    if (has_room && !asked_.exchange(true, std::memory_order_acq_rel)) ask_to_send_on();
    delivering_.fetch_sub(1, std::memory_order_release);
  }

  // A range of a batch is ranges of queries; padding is nobody's.
  void deliver_parts(const Batch& batch, const Completed& range) {
    Outbox outbox(completion_);
    uint32_t at = 0;  // index in the batch of the part's first sample
    for (const QueryPart& part : batch.parts) {
      const uint32_t begin = std::max(at, range.first), end = std::min(at + part.count, range.first + range.count);
      if (begin < end) {
        Completed mine = range;
        mine.query = part.query;
        mine.first = part.first + begin - at;
        mine.count = end - begin;
        mine.row = range.row + begin - range.first;
        outbox.add(mine);
      }
      at += part.count;
    }
    outbox.send();
  }

  void ask_to_send_on() {
    clock_.schedule(clock_.now(), [this, alive = std::weak_ptr<int>(alive_)] {
      if (!alive.expired()) send_on();
    });
  }

  DispatcherSettings settings_;
  Clock& clock_;
  TargetCompletion completion_;
  WaitingQueries waiting_;
  std::vector<std::unique_ptr<Batch>> batches_;
  DispatcherLog log_;
  bool flushing_ = false;
  Nanoseconds deadline_ = never;  // time of the look that is scheduled
  size_t turn_ = 0;
  uint64_t reclaimed_ = 0;
  std::atomic<uint64_t> finished_{0};  // batches
  std::atomic<bool> asked_{false};     // for a look
  std::atomic<int> delivering_{0};
  std::shared_ptr<int> alive_ = std::make_shared<int>();  // what is scheduled may outlast us
  std::vector<Instance> instances_;                       // last: they may complete batches until they are gone
};

}  // namespace

std::unique_ptr<Dispatcher> make_dispatcher(std::vector<DispatcherInstance> instances, const DispatcherSettings& settings, Clock& clock) {
  return std::make_unique<QueueingDispatcher>(std::move(instances), settings, clock);
}

}  // namespace deepgap
