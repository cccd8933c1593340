#include "scenario/end_to_end_target.h"

#include "scenario/marked_time.h"

#include <deepgap/error.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace deepgap {
namespace {

double milliseconds(Nanoseconds time) { return static_cast<double>(time) / 1e6; }

// A query in the stages. Written by the scenario's thread before its samples are prepared, by the preparer's threads under the Target's
// lock until the last of them is ready, then by the scenario's thread again; the Session's threads only read it.
struct PipelineSlot {
  uint64_t query = 0;
  std::vector<uint32_t> buffers;  // the first `samples` of them are in use
  uint32_t samples = 0, unprepared = 0;
  Nanoseconds submitted = 0, begin = never, ready = 0, sent = 0;
  Nanoseconds read = 0, decode = 0, preprocess = 0;  // sums over all samples, whichever thread
  std::string failure;
};

class LaneTarget final : public EndToEndTarget {
 public:
  LaneTarget(Target& session, InputBuffers& buffers, std::unique_ptr<SamplePreparer> preparer, const EndToEndSettings& settings,
             Clock& clock)
      : session_(session),
        buffers_(buffers),
        clock_(clock),
        settings_(settings),
        in_session_limit_(session.limits().max_in_flight),
        lanes_(static_cast<size_t>(settings.pipeline_slots)),
        preparer_(std::move(preparer)) {
    std::vector<uint32_t> all(buffers.size());
    std::iota(all.begin(), all.end(), 0U);
    session_.load(all);
    uint32_t next = 0;
    for (size_t pipeline_slot = 0; pipeline_slot < lanes_.size(); ++pipeline_slot) {
      free_.push_back(pipeline_slot);
      lanes_[pipeline_slot].buffers.resize(static_cast<size_t>(settings.batch));
      for (uint32_t& buffer : lanes_[pipeline_slot].buffers) buffer = next++;
    }
    preparer_->on_prepared([this](const PreparedSample& sample) { note_prepared(sample); });
    session_.on_completion([this](std::span<const Completed> completed) { deliver(completed); });
  }

  ~LaneTarget() override {
    preparer_.reset();
    session_.on_completion({});
  }

  TargetLimits limits() const override { return {settings_.batch, std::max(settings_.in_flight, settings_.pipeline_slots)}; }

  void on_completion(TargetCompletion completion) override {
    while (delivering_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
    completion_ = std::move(completion);
  }

  // Stored samples need no loading: that is what is measured.
  void load(std::span<const uint32_t> /*indices*/) override {}
  void unload(std::span<const uint32_t> /*indices*/) override {}

  void submit(std::span<const Query> queries) override {
    throw_if_failed();
    const Nanoseconds now = clock_.now();
    for (const Query& query : queries) waiting_.push_back({query.id, now, {query.samples.begin(), query.samples.end()}});
    fill_lanes();
  }

  bool outlive_failures(bool on) override { return session_.outlive_failures(on); }

  void flush() override {
    throw_if_failed();
    session_.flush();
  }

  void cancel() override {
    cancelling_ = true;
    for (const Waiting& query : waiting_) answer({query.query, 0, static_cast<uint32_t>(query.samples.size()), Status::cancelled});
    waiting_.clear();
    preparer_->withdraw();
    session_.cancel();
    while (any_lane_in_use()) clock_.wait_until(never);
    cancelling_ = false;
  }

  StageLog take_log() override {
    const std::lock_guard lock(mutex_);
    return std::exchange(log_, {});
  }

 private:
  struct Waiting {
    uint64_t query = 0;
    Nanoseconds submitted = 0;
    std::vector<uint32_t> samples;
  };

  void throw_if_failed() const {
    if (!failure_.empty()) throw Error(ErrorKind::input, failure_);
  }

  std::optional<size_t> take_free_lane() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::nullopt;
    const size_t pipeline_slot = free_.back();
    free_.pop_back();
    return pipeline_slot;
  }

  bool any_lane_in_use() {
    const std::lock_guard lock(mutex_);
    return free_.size() < lanes_.size();
  }

  void fill_lanes() {
    while (!waiting_.empty()) {
      const auto pipeline_slot = take_free_lane();
      if (!pipeline_slot) return;
      const Waiting query = std::move(waiting_.front());
      waiting_.pop_front();
      prepare(*pipeline_slot, query);
    }
  }

  void prepare(size_t index, const Waiting& query) {
    PipelineSlot& pipeline_slot = lanes_[index];
    const auto count = static_cast<uint32_t>(query.samples.size());
    pipeline_slot = {query.query, std::move(pipeline_slot.buffers), count, count, query.submitted};
    for (uint32_t i = 0; i < count; ++i) preparer_->prepare(query.samples[i], buffers_.buffer(pipeline_slot.buffers[i]), index);
  }

  // Any thread.
  void note_prepared(const PreparedSample& sample) {
    {
      const std::lock_guard lock(mutex_);
      PipelineSlot& pipeline_slot = lanes_[sample.tag];
      pipeline_slot.begin = std::min(pipeline_slot.begin, sample.begin);
      pipeline_slot.ready = std::max(pipeline_slot.ready, sample.end);
      pipeline_slot.read += sample.read - sample.begin;
      pipeline_slot.decode += sample.decoded - sample.read;
      pipeline_slot.preprocess += sample.end - sample.decoded;
      if (!sample.failure.empty()) pipeline_slot.failure = sample.failure;
      if (--pipeline_slot.unprepared > 0) return;
      ready_.push_back(sample.tag);
    }
    ask_for_a_look();
  }

  void ask_for_a_look() {
    if (asked_.exchange(true, std::memory_order_acq_rel)) return;
    clock_.schedule(clock_.now(), [this, alive = std::weak_ptr<int>(alive_)] {
      if (!alive.expired()) look();
    });
  }

  // Scenario's thread: moves on what can move.
  void look() {
    asked_.exchange(false, std::memory_order_acq_rel);  // what became ready before it was asked is seen below
    fill_lanes();
    const auto index = take_ready_lane();
    if (!index) return;
    PipelineSlot& pipeline_slot = lanes_[*index];
    if (cancelling_ || !pipeline_slot.failure.empty()) {
      give_up(*index);
    } else {
      pipeline_slot.sent = clock_.now();
      ++in_session_;
      const Query query{*index, pipeline_slot.submitted, std::span<const uint32_t>(pipeline_slot.buffers).first(pipeline_slot.samples)};
      session_.submit(std::span(&query, 1));
    }
    ask_for_a_look();  // there may be more
  }

  std::optional<size_t> take_ready_lane() {
    const std::lock_guard lock(mutex_);
    if (ready_.empty() || (in_session_ >= in_session_limit_ && !cancelling_)) return std::nullopt;
    const size_t pipeline_slot = ready_.front();
    ready_.pop_front();
    return pipeline_slot;
  }

  void give_up(size_t index) {
    const PipelineSlot& pipeline_slot = lanes_[index];
    if (!cancelling_ && failure_.empty()) failure_ = pipeline_slot.failure;
    answer({pipeline_slot.query, 0, pipeline_slot.samples, cancelling_ ? Status::cancelled : Status::failed});
    release(index);
  }

  void answer(const Completed& completed) {
    if (completion_) completion_(std::span(&completed, 1));
  }

  void release(size_t pipeline_slot) {
    const std::lock_guard lock(mutex_);
    free_.push_back(pipeline_slot);
  }

  // Any thread.
  void deliver(std::span<const Completed> completed) {
    delivering_.fetch_add(1, std::memory_order_acq_rel);
    const Nanoseconds now = clock_.now();
    for (const Completed& of_session : completed) {
      const PipelineSlot& pipeline_slot = lanes_.at(of_session.query);
      if (of_session.status == Status::ok) note_answered(pipeline_slot, of_session.marks, now);
      Completed mine = of_session;
      mine.query = pipeline_slot.query;
      answer(mine);
      --in_session_;
      release(of_session.query);
    }
    ask_for_a_look();
    delivering_.fetch_sub(1, std::memory_order_release);
  }

  void note_answered(const PipelineSlot& pipeline_slot, std::span<const Mark> marks, Nanoseconds now) {
    // Threads that share a query's samples work at once: each stage gets its part of the time that passed.
    const Nanoseconds worked = pipeline_slot.read + pipeline_slot.decode + pipeline_slot.preprocess;
    const double scale = worked > 0 ? milliseconds(pipeline_slot.ready - pipeline_slot.begin) / milliseconds(worked) : 0;
    const Nanoseconds copy_in = marked_time(marks, MarkId::h2d_begin, MarkId::compute_begin).value_or(0);
    const Nanoseconds compute = marked_time(marks, MarkId::compute_begin, MarkId::compute_end).value_or(now - pipeline_slot.sent);
    const Nanoseconds copy_out = marked_time(marks, MarkId::compute_end, MarkId::d2h_end).value_or(0);
    const std::lock_guard lock(mutex_);
    const auto note = [&](Stage stage, double ms) { log_.ms[static_cast<size_t>(stage)].add(ms, 1); };
    note(Stage::wait_decode, milliseconds(pipeline_slot.begin - pipeline_slot.submitted));
    note(Stage::read, milliseconds(pipeline_slot.read) * scale);
    note(Stage::decode, milliseconds(pipeline_slot.decode) * scale);
    note(Stage::preprocess, milliseconds(pipeline_slot.preprocess) * scale);
    note(Stage::wait_infer, milliseconds(std::max<Nanoseconds>(0, now - pipeline_slot.ready - copy_in - compute - copy_out)));
    note(Stage::copy_in, milliseconds(copy_in));
    note(Stage::compute, milliseconds(compute));
    note(Stage::copy_out, milliseconds(copy_out));
    log_.prepare_ms.add(milliseconds(worked), pipeline_slot.samples);
  }

  Target& session_;
  InputBuffers& buffers_;
  Clock& clock_;
  EndToEndSettings settings_;
  int64_t in_session_limit_;
  TargetCompletion completion_;
  std::deque<Waiting> waiting_;
  std::string failure_;  // why the first query that failed could not be prepared
  bool cancelling_ = false;
  std::vector<PipelineSlot> lanes_;
  std::mutex mutex_;  // guards the three below, and pipeline slots that are being prepared
  std::vector<size_t> free_;
  std::deque<size_t> ready_;
  StageLog log_;
  std::atomic<int64_t> in_session_{0};
  std::atomic<bool> asked_{false};  // for a look
  std::atomic<int> delivering_{0};
  std::shared_ptr<int> alive_ = std::make_shared<int>();  // what is scheduled may outlast us
  std::unique_ptr<SamplePreparer> preparer_;
};

}  // namespace

std::unique_ptr<EndToEndTarget> make_end_to_end_target(Target& session, InputBuffers& buffers, std::unique_ptr<SamplePreparer> preparer,
                                                       const EndToEndSettings& settings, Clock& clock) {
  return std::make_unique<LaneTarget>(session, buffers, std::move(preparer), settings, clock);
}

}  // namespace deepgap
