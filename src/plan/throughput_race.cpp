// Sequential halving (Karnin, Koren and Somekh, "Almost optimal exploration in multi-armed bandits", ICML 2013), which gives every round
// the same number of runs, so that the fewer are left the better they are known; and racing (Maron and Moore, "Hoeffding races", NIPS
// 1993): what is clearly below the best is out at once. All on the logarithm, where noise is a share of the value.
#include "plan/shuffle.h"
#include "plan/tune_search.h"

#include "stats/moments.h"

#include <algorithm>
#include <cmath>

namespace deepgap {
namespace {

// The scatter between runs besides the one within them: drift and neighbours.
constexpr double guard = 0.1;

class ThroughputRace final : public TuneSearch {
 public:
  explicit ThroughputRace(const TuneSettings& settings) : settings_(settings), random_(settings.seed), entries_(settings.configurations) {
    for (size_t i = 0; i < settings.configurations; ++i) left_.push_back(i);
    begin_round(1);
  }

  std::optional<TuneTrial> next(double time_used) override {
    if (time_used >= 1) return std::nullopt;
    if (stage_ == TuneStage::search) search_on(time_used);
    if (stage_ == TuneStage::confirm && due_.empty() && rounds_ < settings_.confirm) begin_round(1);
    if (due_.empty()) return std::nullopt;
    const size_t who = due_.back();
    due_.pop_back();
    return TuneTrial{who, stage_, static_cast<int>(logs(who).size()), {}, {}};
  }

  void add(const TuneTrial& trial, const TuneRun& run) override {
    ++runs_;
    Entry& entry = entries_[trial.configuration];
    if (run.failed || !(run.throughput > 0)) {
      std::erase(left_, trial.configuration);
      std::erase(due_, trial.configuration);
      return;
    }
    const double value = std::log(run.throughput);
    (trial.stage == TuneStage::search ? entry.searched : entry.confirmed).push_back(value);
    if (trial.stage == TuneStage::confirm) return;
    const bool known = run.throughput_interval && run.throughput_interval->low > 0;
    entry.low.add(known ? std::log(run.throughput_interval->low) : value);
    entry.high.add(known ? std::log(run.throughput_interval->high) : value);
  }

  std::vector<TuneStanding> standings() const override {
    const bool fresh =
        stage_ == TuneStage::confirm && std::all_of(left_.begin(), left_.end(), [&](size_t who) { return !logs(who).empty(); });
    std::vector<TuneStanding> standings;
    for (const size_t who : left_) {
      const std::vector<double>& values = fresh ? entries_[who].confirmed : entries_[who].searched;
      if (!values.empty()) standings.push_back(standing(who, values, fresh));
    }
    std::stable_sort(standings.begin(), standings.end(), [](const TuneStanding& a, const TuneStanding& b) { return a.value > b.value; });
    for (TuneStanding& other : standings)
      other.tied = other.configuration != standings.front().configuration && tied(standings, other, fresh);
    return standings;
  }

 private:
  struct Entry {
    std::vector<double> searched, confirmed;  // logarithms
    Moments low, high;                        // ends of the intervals within the searching runs, also logarithms
  };

  const std::vector<double>& logs(size_t who) const {
    return stage_ == TuneStage::search ? entries_[who].searched : entries_[who].confirmed;
  }
  double searched_mean(size_t who) const { return mean(entries_[who].searched); }
  static double mean(const std::vector<double>& values) {
    Moments moments;
    for (const double value : values) moments.add(value);
    return values.empty() ? -INFINITY : moments.mean();
  }

  // Every configuration that is left `times` times, each time in another order.
  void begin_round(int times) {
    for (int i = 0; i < times; ++i) {
      std::vector<size_t> block = left_;
      shuffle(block, random_);
      due_.insert(due_.begin(), block.begin(), block.end());
    }
    ++rounds_;
  }

  void search_on(double time_used) {
    if (time_used >= settings_.search_share) return begin_confirming(time_used);
    if (!due_.empty()) return;
    sort_left();
    drop_hopeless();
    if (left_.size() <= settings_.finalists) return begin_confirming(time_used);
    left_.resize(std::max(settings_.finalists, (left_.size() + 1) / 2));
    if (left_.size() <= settings_.finalists) return begin_confirming(time_used);
    begin_round(static_cast<int>((settings_.configurations + left_.size() - 1) / left_.size()));
  }

  void sort_left() {
    std::stable_sort(left_.begin(), left_.end(), [&](size_t a, size_t b) { return searched_mean(a) > searched_mean(b); });
  }

  void drop_hopeless() {
    if (left_.empty()) return;
    const double best = entries_[left_.front()].low.mean();
    std::erase_if(left_, [&](size_t who) { return who != left_.front() && entries_[who].high.mean() + std::log1p(guard) < best; });
  }

  void begin_confirming(double time_used) {
    sort_left();
    std::erase_if(left_, [&](size_t who) { return entries_[who].searched.empty(); });
    drop_hopeless();
    left_.resize(affordable_finalists(left_.size(), settings_.finalists, settings_.confirm, time_used, runs_));
    stage_ = TuneStage::confirm;
    due_.clear();
    rounds_ = 0;
  }

  TuneStanding standing(size_t who, const std::vector<double>& values, bool fresh) const {
    TuneStanding standing;
    standing.configuration = who;
    standing.value = std::exp(mean(values));
    standing.runs = fresh ? static_cast<int>(values.size()) : 0;
    standing.confirmed = fresh && standing.runs >= settings_.confirm;
    if (const auto estimate = estimate_mean(values)) {
      const Interval interval = estimate->interval();
      standing.interval = Interval{std::exp(interval.low), std::exp(interval.high)};
    }
    return standing;
  }

  // Paired by round, in which all were run shortly after each other, so that drift is in both; which of them is the best
  // was not known before, so that all pairs count: the error of all comparisons together is
  // 5 % at most (Bonferroni).
  bool tied(const std::vector<TuneStanding>& standings, const TuneStanding& other, bool fresh) const {
    if (!fresh) return true;
    const std::vector<double>&best = entries_[standings.front().configuration].confirmed, &values = entries_[other.configuration].confirmed;
    std::vector<double> differences;
    for (size_t round = 0; round < std::min(best.size(), values.size()); ++round) differences.push_back(best[round] - values[round]);
    const auto estimate = estimate_mean(differences);
    const auto n = static_cast<double>(standings.size());
    const double confidence = 1 - (1 - default_confidence) / (n * (n - 1) / 2);
    return !estimate || !(estimate->interval(confidence).low > 0);
  }

  TuneSettings settings_;
  std::mt19937_64 random_;
  std::vector<Entry> entries_;
  TuneStage stage_ = TuneStage::search;
  std::vector<size_t> left_;  // in the race; while confirming the finalists
  std::vector<size_t> due_;   // left in this round, the next one last
  int rounds_ = 0;            // rounds in this stage
  int runs_ = 0;
};

}  // namespace

std::unique_ptr<TuneSearch> make_throughput_race(const TuneSettings& settings) { return std::make_unique<ThroughputRace>(settings); }

const char* name_of(TuneStage stage) { return stage == TuneStage::search ? "search" : "confirm"; }

size_t affordable_finalists(size_t left, size_t most, int runs_each, double time_used, int runs_so_far) {
  size_t affordable = most;
  if (time_used > 0 && runs_so_far > 0) {
    const double runs = (1 - time_used) * runs_so_far / time_used;
    affordable = std::max<size_t>(2, static_cast<size_t>(std::min(runs / runs_each, static_cast<double>(most))));
  }
  return std::min({left, most, affordable});
}

}  // namespace deepgap
