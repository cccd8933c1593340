#include "worker/accuracy.h"

#include "base/rounding.h"
#include "stats/proportion.h"
#include "worker/classes.h"

#include <deepgap/error.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace deepgap {
namespace {

// Samples that lie in memory at a time, rounded up to whole queries.
constexpr int64_t samples_at_a_time = 64;

Estimate share(int64_t right, int64_t samples) {
  const Interval interval = wilson_interval(right, samples);
  return {static_cast<double>(right) / static_cast<double>(samples), interval.low, interval.high, samples};
}

// One loaded set's answers. The completion writes them on any thread, each in its own place.
class Answers {
 public:
  Answers(Target& target, Clock& clock, std::span<const uint32_t> samples, const AccuracySettings& settings)
      : target_(target), clock_(clock), samples_(samples), batch_(static_cast<size_t>(settings.batch)), ranks_(samples.size()) {
    target_.on_completion([this](std::span<const Completed> completed) {
      for (const Completed& c : completed) keep(c);
      clock_.notify();
    });
  }
  ~Answers() { target_.on_completion({}); }
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

  // False: interrupted.
  bool collect(int64_t in_flight, const std::function<void()>& beat, const std::atomic<bool>& interrupted) {
    const size_t queries = divide_up(samples_.size(), batch_);
    size_t sent = 0;
    while (finished() < queries && !failed_.load()) {
      while (sent < queries && sent - finished() < static_cast<size_t>(in_flight)) submit(sent++);
      target_.flush();
      if (interrupted.load()) {
        target_.cancel();
        return false;
      }
      if (finished() < sent && !failed_.load()) clock_.wait_until(never);
      beat();
    }
    target_.flush();  // throws with the engine's reason
    if (failed_.load()) throw Error(ErrorKind::internal, "the engine gave up a labelled sample and gave no reason");
    return true;
  }
  const std::vector<std::vector<int64_t>>& ranks() const { return ranks_; }

 private:
  // Queries. A Dispatcher may answer one in parts.
  size_t finished() const { return answered_.load() / batch_; }
  void submit(size_t number) {
    std::vector<uint32_t> batch;
    for (size_t i = 0; i < batch_; ++i) batch.push_back(samples_[(number * batch_ + i) % samples_.size()]);
    const Query query{number, clock_.now(), batch};
    target_.submit(std::span(&query, 1));
  }
  void keep(const Completed& completed) {
    if (completed.status != Status::ok) failed_.store(true);
    const size_t first = completed.query * batch_ + completed.first;
    for (size_t i = 0; i < completed.count && first + i < ranks_.size() && completed.status == Status::ok; ++i)
      ranks_[first + i] = best_classes(completed.outputs, completed.row + i, ranked_classes);
    answered_.fetch_add(completed.count);
  }

  Target& target_;
  Clock& clock_;
  std::span<const uint32_t> samples_;
  size_t batch_;
  std::vector<std::vector<int64_t>> ranks_;
  std::atomic<size_t> answered_{0};  // samples
  std::atomic<bool> failed_{false};
};

}  // namespace

void AccuracyCount::add(std::span<const int64_t> ranked, int64_t label) {
  const auto found = std::find(ranked.begin(), ranked.end(), label);
  ++samples_;
  top1_ += found == ranked.begin() && found != ranked.end() ? 1 : 0;
  top5_ += found != ranked.end() ? 1 : 0;
  full_ranks_ = full_ranks_ && ranked.size() == ranked_classes;
}

std::map<std::string, Estimate> AccuracyCount::estimates() const {
  if (samples_ == 0) return {};
  std::map<std::string, Estimate> estimates{{"accuracy_top1", share(top1_, samples_)}};
  if (full_ranks_) estimates["accuracy_top5"] = share(top5_, samples_);
  return estimates;
}

AccuracyCount count_right_answers(Target& target, Clock& clock, const Dataset& dataset, const AccuracySettings& settings,
                                  const std::function<void()>& beat, const std::atomic<bool>& interrupted) {
  AccuracyCount count;
  const int64_t chunk = (samples_at_a_time + settings.batch - 1) / settings.batch * settings.batch;
  for (int64_t first = 0; first < settings.samples && !interrupted.load(); first += chunk) {
    std::vector<uint32_t> samples(static_cast<size_t>(std::min(chunk, settings.samples - first)));
    std::iota(samples.begin(), samples.end(), static_cast<uint32_t>(first));
    target.load(samples);
    beat();
    {
      Answers answers(target, clock, samples, settings);
      if (!answers.collect(settings.in_flight, beat, interrupted)) return count;
      for (size_t i = 0; i < samples.size(); ++i) {
        if (answers.ranks()[i].empty()) throw Error(ErrorKind::internal, "the outputs hold no classes, so that labels cannot be compared");
        if (const auto label = dataset.label(samples[i])) count.add(answers.ranks()[i], *label);
      }
    }
    target.unload(samples);
  }
  return count;
}

}  // namespace deepgap
