#include "mlperf/loadgen/drive.h"

#include "mlperf/loadgen/accuracy_log.h"
#include "mlperf/loadgen/outstanding.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace deepgap {
namespace {

// One loaded set's queries.
class PhaseDrive {
 public:
  PhaseDrive(const LoadgenDrive& drive, LoadgenMode mode, LoadgenSchedule& schedule, const std::atomic<bool>& interrupted)
      : drive_(drive),
        settings_(drive.settings),
        effective_(effective_settings(drive.settings)),
        clock_(*drive.clock),
        schedule_(schedule),
        choice_(drive.settings),
        interrupted_(interrupted),
        outstanding_(*drive.target, *drive.clock, drive.answer, drive.settings.token_latencies,
                     [this](const LoadgenIssuedQuery& query, size_t at, Nanoseconds done, std::string_view answer, LoadgenTokens tokens) {
                       record(query, at, done, answer, tokens);
                     }) {
    result_.mode = mode;
    logs_ = mode == LoadgenMode::accuracy || choice_.probability() > 0;
  }

  bool run();  // false: interrupted
  LoadgenPhaseResult take() { return std::move(result_); }

 private:
  bool next();
  Nanoseconds wait();
  void issue(Nanoseconds now);
  bool ends(Nanoseconds now);
  bool end_early(const std::string& why);
  void serve_until(Nanoseconds time);
  bool wait_for_answers();
  void record(const LoadgenIssuedQuery& query, size_t at, Nanoseconds done, std::string_view answer, LoadgenTokens tokens);
  void record_tokens(size_t place, Nanoseconds scheduled, Nanoseconds done, LoadgenTokens tokens);

  bool is(LoadgenScenario scenario) const { return settings_.scenario == scenario; }
  bool stopped() const { return interrupted_.load(std::memory_order_relaxed); }

  const LoadgenDrive& drive_;
  const LoadgenSettings& settings_;
  const EffectiveLoadgenSettings effective_;
  Clock& clock_;
  LoadgenSchedule& schedule_;
  AccuracyLogChoice choice_;
  const std::atomic<bool>& interrupted_;
  bool logs_ = false;
  LoadgenPhaseResult result_;
  LoadgenIssuedQuery next_;  // generated before its time comes
  bool has_next_ = false;
  uint64_t first_sample_ = 0, first_query_ = 0;
  LoadgenOutstanding outstanding_;
};

bool PhaseDrive::next() {
  const LoadgenQuery* query = schedule_.next_query();
  has_next_ = query != nullptr;
  if (!has_next_) return false;
  next_ = {};
  next_.query = *query;
  next_.indices.reserve(static_cast<size_t>(query->samples));
  std::array<LoadgenSample, 64> samples;
  while (const size_t count = schedule_.next_samples(samples)) {
    if (next_.indices.empty()) next_.first_sample = samples[0].sequence;
    for (size_t i = 0; i < count; ++i) {
      next_.indices.push_back(samples[i].index);
      if (logs_) next_.logged.push_back(result_.mode == LoadgenMode::accuracy || choice_.logs(samples[i].accuracy_log_value));
    }
  }
  return true;
}

bool PhaseDrive::run() {
  next();
  first_sample_ = next_.first_sample;
  first_query_ = next_.query.sequence;
  result_.start = clock_.now();
  bool ended = false;
  while (has_next_ && !ended && !stopped()) {
    const Nanoseconds now = wait();
    if (stopped()) break;
    issue(now);
    ended = ends(now);
  }
  const bool must_end = result_.mode == LoadgenMode::performance && !is(LoadgenScenario::server);
  if (must_end && !ended && !stopped()) {
    end_early(
        "every generated query was issued before the minimum query count and duration were reached: state a lower target_latency, the "
        "one that is expected");
  }
  drive_.target->flush();
  if (!wait_for_answers()) return false;
  while (schedule_.next_query() != nullptr) {  // LoadGen generates all of them, and counts on from there
  }
  result_.generated = schedule_.generated();
  return true;
}

// Waits until the next query's time; returns the time at which it goes out.
Nanoseconds PhaseDrive::wait() {
  if (is(LoadgenScenario::server)) {
    serve_until(result_.start + next_.query.scheduled_ns);
  } else {
    wait_for_answers();
  }
  return clock_.now();
}

void PhaseDrive::serve_until(Nanoseconds time) {
  while (!stopped()) {
    if (outstanding_.collect()) outstanding_.send();
    if (clock_.now() >= time) return;
    clock_.wait_until(time);
  }
}

bool PhaseDrive::wait_for_answers() {
  while (outstanding_.queries() > 0) {
    if (stopped()) {
      outstanding_.cancel();
      return false;
    }
    if (outstanding_.collect()) {
      outstanding_.send();
    } else {
      clock_.wait_until(never);
    }
  }
  return !stopped();
}

void PhaseDrive::issue(Nanoseconds now) {
  const bool coalesces = settings_.coalesce_queries;
  do {
    next_.issued = now;
    next_.scheduled = is(LoadgenScenario::server)    ? result_.start + next_.query.scheduled_ns
                      : is(LoadgenScenario::offline) ? result_.start
                                                     : now;
    result_.last_scheduled_ns = next_.query.scheduled_ns;
    result_.last_issued_ns = now - result_.start;
    ++result_.queries;
    const size_t samples = result_.sample_latency_ns.size() + next_.indices.size();
    result_.sample_latency_ns.resize(samples);
    if (settings_.token_latencies) {
      result_.tokens.resize(samples);
      if (!is(LoadgenScenario::offline)) result_.first_token_ns.resize(samples);
      if (!is(LoadgenScenario::offline)) result_.per_token_ns.resize(samples);
    }
    if (is(LoadgenScenario::multi_stream)) result_.query_latency_ns.push_back(0);
    outstanding_.add(std::move(next_));
  } while (next() && coalesces && result_.start + next_.query.scheduled_ns <= now);
  outstanding_.send();
}

// LoadGen's rules, in its order. Accuracy issues everything.
bool PhaseDrive::ends(Nanoseconds now) {
  if (result_.mode == LoadgenMode::accuracy) return false;
  const int64_t duration = now - result_.start;
  if (is(LoadgenScenario::server)) {
    const int64_t most = settings_.max_async_queries;
    outstanding_.collect();
    if (most != 0 && outstanding_.queries() > most)
      return end_early(fmt::format("{} queries are outstanding, more than max_async_queries {}", outstanding_.queries(), most));
  } else if (result_.queries >= effective_.min_query_count && duration >= effective_.target_duration_ns) {
    result_.ended_naturally = true;
    return true;
  }
  if (settings_.max_query_count != 0 && result_.queries >= settings_.max_query_count)
    return end_early(fmt::format("max_query_count {} was reached", settings_.max_query_count));
  if (settings_.max_duration_ms != 0 && duration > settings_.max_duration_ms * 1000000)
    return end_early(fmt::format("max_duration of {} ms was reached", settings_.max_duration_ms));
  return false;
}

bool PhaseDrive::end_early(const std::string& why) {
  result_.errors.push_back("ended early: " + why);
  return true;
}

// As LoadGen has it: an answer of fewer than two tokens is an error and counts as one without any.
void PhaseDrive::record_tokens(size_t place, Nanoseconds scheduled, Nanoseconds done, LoadgenTokens tokens) {
  if (tokens.count == 0) result_.errors.push_back("an answer has no tokens, or the target does not count them");
  if (tokens.count == 1) result_.errors.push_back("an answer has one token; its latency for each token needs more than one");
  const int64_t counted = tokens.count == 1 ? 0 : tokens.count;
  result_.tokens[place] = counted;
  if (result_.first_token_ns.empty()) return;
  if (tokens.first == 0) result_.errors.push_back("the target does not say when an answer's first token came");
  result_.first_token_ns[place] = tokens.first == 0 ? done - scheduled : tokens.first - scheduled;
  result_.per_token_ns[place] = (done - scheduled - result_.first_token_ns[place]) / (counted - 1);
}

void PhaseDrive::record(const LoadgenIssuedQuery& query, size_t at, Nanoseconds done, std::string_view answer, LoadgenTokens tokens) {
  const uint64_t sequence = query.first_sample + at;
  result_.sample_latency_ns[sequence - first_sample_] = done - query.scheduled;
  if (settings_.token_latencies) record_tokens(sequence - first_sample_, query.scheduled, done, tokens);
  result_.active_ns = std::max(result_.active_ns, done - result_.start);
  if (query.remaining == 0) {
    const uint64_t number = query.query.sequence - first_query_;
    if (!result_.query_latency_ns.empty()) result_.query_latency_ns[number] = query.done - query.scheduled;
    if (number + 1 == static_cast<uint64_t>(result_.queries)) result_.last_done_ns = query.done - result_.start;
  }
  if (drive_.observer == nullptr) return;
  const bool logged = !query.logged.empty() && query.logged[at];
  drive_.observer->on_sample({sequence, query.query.sequence, query.indices[at], query.scheduled, query.issued, done, logged, tokens.count,
                              logged ? answer : std::string_view()});
  if (query.remaining == 0)
    drive_.observer->on_query(
        {query.query.sequence, query.scheduled, query.issued, query.done, static_cast<uint32_t>(query.query.samples), Status::ok});
}

}  // namespace

std::vector<LoadgenPhaseResult> drive_loadgen(const LoadgenDrive& drive, const std::atomic<bool>& interrupted) {
  LoadgenSchedule schedule(drive.settings);
  LoadgenObserver nobody;
  LoadgenObserver& observer = drive.observer != nullptr ? *drive.observer : nobody;
  std::vector<LoadgenPhaseResult> results;
  std::optional<LoadgenMode> mode;
  while (const LoadgenSet* set = schedule.next_set()) {
    if (mode != set->mode) observer.on_phase(set->mode);
    mode = set->mode;
    observer.on_set(*set);
    const std::vector<uint32_t> indices = set->indices;
    drive.target->load(indices);
    PhaseDrive phase(drive, set->mode, schedule, interrupted);
    const bool done = phase.run();
    drive.target->unload(indices);
    if (!done) return results;
    results.push_back(phase.take());
    observer.on_result(results.back());
  }
  return results;
}

}  // namespace deepgap
