// A duel: contenders load one after the other, so that none compiles or tunes beside another, stay loaded, and take short turns until
// every one of them differs from the first or is known to be the same and the shortest duration asked for has passed, or the budget is
// spent.
#include "analysis/duel/duel_score.h"
#include "base/json_words.h"
#include "base/quantity.h"
#include "plan/duel_turns.h"
#include "record/duel_set.h"
#include "record/identity.h"
#include "record/record_json.h"
#include "run/supervisor.h"
#include "worker/output_sketch.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace deepgap {
namespace {

constexpr int rounds_to_get_going = 2;  // turns that are not kept
// Two that are each so near to the truth may be apart by the sum of both errors.
constexpr double both_errors_db = 6;

}  // namespace

class Supervisor::Duel {
 public:
  Duel(Supervisor& supervisor, const std::vector<Job>& jobs)
      : supervisor_(supervisor),
        jobs_(jobs),
        workers_(supervisor.patience_),
        answers_(jobs.size()),
        records_(jobs.size()),
        margin_(jobs.front().stopping.interval),
        score_(jobs.size(), margin_),
        turns_(jobs.size(), supervisor.settings_.seed + static_cast<uint64_t>(jobs.front().repeat)) {}

  std::vector<Record> run() {
    load();
    if (goes_on()) refuse_other_answers();
    if (goes_on()) take_turns();
    ending_ = how_it_ended();  // before the workers end: a failure after this ends nothing
    end();
    judge();
    std::vector<Record> records;
    for (auto& record : records_) records.push_back(std::move(*record));
    return records;
  }

 private:
  std::string name(size_t i) const { return contender_name(jobs_[i].point); }
  bool takes_part(size_t i) const { return !records_[i] && i < workers_.size(); }
  bool goes_on() const {
    size_t others = 0;
    for (size_t i = 1; i < jobs_.size(); ++i) others += takes_part(i) ? 1 : 0;
    return takes_part(0) && others > 0 && !interrupted_;
  }

  void load();
  void refuse_other_answers();
  void take_turns();
  bool take_round(int64_t pair);
  struct Given {
    double items_per_s = 0, seconds = 0;
  };
  std::optional<Given> take_turn(size_t contender, int64_t pair);
  void fail(size_t contender, const Answer& answer);
  void end();
  void judge();
  void judge_first(Record& record) const;
  void judge_other(size_t contender, Record& record) const;
  std::string how_it_ended() const;
  double seconds_of(int64_t pairs) const;
  Nanoseconds spent() const;
  void tell(size_t contender) const;

  Supervisor& supervisor_;
  const std::vector<Job>& jobs_;
  WorkerSet workers_;
  std::vector<OutputSketch> answers_;
  std::vector<std::optional<Record>> records_;  // one for each contender that has ended
  double margin_;
  DuelScore score_;
  DuelTurns turns_;
  Nanoseconds began_ = 0, ended_ = 0;  // the first turn, and the last whole round
  double turned_s_ = 0;                // all turns on their workers' clocks
  double kept_s_ = 0;                  // those of rounds that count
  std::string failed_;                 // who failed last, and how: where that left no duel, it is why
  std::string ending_;                 // how the duel ended, for contenders without a decision
  bool interrupted_ = false, budget_spent_ = false;
};

void Supervisor::Duel::load() {
  const auto needs_reference = [&](size_t place, const Frame& frame) { return supervisor_.answer_other(workers_, place, frame); };
  for (size_t i = 0; i < jobs_.size(); ++i) {
    try {
      workers_.add(supervisor_.start(jobs_[i], supervisor_.order_for(jobs_[i])));
    } catch (const Error& error) {
      failed_ = error.what();
      interrupted_ = true;  // the system had no process for it; --resume may find one
      return;
    }
    send_order(workers_.at(i), "run");
    nlohmann::json said;
    while (takes_part(i)) {
      const auto failed = workers_.ready(i, said, needs_reference);
      if (!failed) break;
      interrupted_ = interrupted_ || failed->answer.kind == Answer::Kind::interrupted || supervisor_.host_.interrupts() > 0;
      if (interrupted_) return;
      fail(failed->worker, failed->answer);
    }
    if (records_[0]) return;  // nobody is left to be compared with
    if (!takes_part(i)) continue;
    try {
      answers_[i] = sketch_from_json(said.at("answers"));
    } catch (const std::exception& error) {
      fail(i, {Answer::Kind::broken, {}, json_words(error)});
    }
  }
}

// Refuses contenders with other answers. Those that were held against one reference have the same answers already.
void Supervisor::Duel::refuse_other_answers() {
  const Point& first = jobs_[0].point;
  for (size_t i = 1; i < jobs_.size(); ++i) {
    const Point& own = jobs_[i].point;
    if (!takes_part(i) || !jobs_[i].check) continue;
    if (model_key(own) == model_key(first) && dataset_key(own) == dataset_key(first)) continue;
    const double wanted = std::min(answers_[0].min_sqnr_db, answers_[i].min_sqnr_db) - both_errors_db;
    const std::string differs = difference_words(answers_[0], answers_[i], wanted);
    if (differs.empty()) continue;
    const std::string why = fmt::format("{} gives other answers than {}: {}", name(i), name(0), differs);
    records_[i] = supervisor_.failure(jobs_[i], workers_.at(i).order, Outcome::refused, why);
    note_refusal(*records_[i], "deepgap", "check");
    failed_ = why;
    workers_.drop(i);
    turns_.leave_out(i);
  }
}

void Supervisor::Duel::take_turns() {
  began_ = supervisor_.host_.now();
  for (int i = 0; i < rounds_to_get_going; ++i) {
    if (!take_round(-1)) return;
  }
  const auto settled = [&] {
    if (kept_s_ * 1e9 < static_cast<double>(jobs_.front().stopping.duration.value_or(0))) return false;
    for (size_t i = 1; i < jobs_.size(); ++i) {
      if (takes_part(i) && !score_.settled(i)) return false;
    }
    return true;
  };
  for (int64_t pair = 0; take_round(pair) && !settled();) ++pair;
}

// False: it was broken off, and the duel is over.
bool Supervisor::Duel::take_round(int64_t pair) {
  std::vector<double> items_per_s(jobs_.size(), 0);
  double seconds = 0;
  for (const size_t contender : turns_.next_round()) {
    if (!takes_part(contender)) continue;
    budget_spent_ = pair >= 0 && spent() >= jobs_.front().stopping.budget;
    if (budget_spent_) return false;
    const auto gave = take_turn(contender, pair);
    if (!goes_on()) return false;
    if (!gave) continue;
    turned_s_ += gave->seconds;
    items_per_s[contender] = gave->items_per_s;
    seconds += gave->seconds;
  }
  ended_ = began_ + spent();
  if (pair < 0) return true;
  kept_s_ += seconds;
  score_.add_round(items_per_s, seconds);
  tell(jobs_.size() - 1);
  return true;
}

// Since the first turn began. In virtual time turns take no time here: their own counts.
Nanoseconds Supervisor::Duel::spent() const {
  return std::max(supervisor_.host_.now() - began_, static_cast<Nanoseconds>(turned_s_ * 1e9));
}

// Whoever else fails meanwhile, the turn is waited for; an interrupt waits for its end too, but not for long.
std::optional<Supervisor::Duel::Given> Supervisor::Duel::take_turn(size_t contender, int64_t pair) {
  Heard heard = workers_.turn(contender, {{"pair", pair}, {"slice_ns", duel_slice}});
  while (!heard.answer.is(turn_frame::done) || heard.worker != contender) {
    if (heard.answer.kind == Answer::Kind::interrupted) {
      interrupted_ = true;
      heard = {contender, supervisor_.await_end(workers_.at(contender), turn_frame::done)};
      if (heard.answer.is(turn_frame::done)) break;
    }
    fail(heard.worker, heard.answer);
    if (heard.worker == contender) return std::nullopt;
    heard = {contender, hear_one(supervisor_.patience_, workers_.at(contender))};
  }
  try {
    const nlohmann::json& payload = heard.answer.frame.header.at("payload");
    return Given{payload.at("items_per_s").get<double>(), payload.at("seconds").get<double>()};
  } catch (const nlohmann::json::exception& error) {
    fail(contender, {Answer::Kind::broken, {}, json_words(error)});
    return std::nullopt;
  }
}

void Supervisor::Duel::fail(size_t contender, const Answer& answer) {
  try {
    records_[contender] = supervisor_.record_from(workers_.at(contender), answer);
  } catch (const std::exception& error) {  // a record that is none
    records_[contender] = supervisor_.failure(jobs_[contender], workers_.at(contender).order, Outcome::crashed, error.what());
  }
  const Record& record = *records_[contender];
  failed_ = fmt::format("{}: {}: {}", name(contender), name_of(record.outcome), record.reason);
  workers_.drop(contender);
  turns_.leave_out(contender);
}

// Every worker that still takes part answers with what its turns gave, where there were some.
void Supervisor::Duel::end() {
  if (score_.rounds() > 0 || (began_ > 0 && goes_on())) {
    workers_.end_turns();
    const auto take = [&](size_t place, const Frame& frame) {
      if (frame.header.value("kind", "") != "record") return false;
      records_[place] = supervisor_.record_from(workers_.at(place), {Answer::Kind::frame, frame, {}});
      workers_.drop(place);
      return true;
    };
    while (const auto failed = workers_.collect(take)) fail(failed->worker, failed->answer);
  }
  for (size_t i = 0; i < jobs_.size(); ++i) {
    if (records_[i]) continue;
    const Outcome outcome = interrupted_ ? Outcome::interrupted : Outcome::refused;
    const std::string why = !interrupted_     ? fmt::format("arm {}", failed_)
                            : failed_.empty() ? supervisor_.host_.interrupt_words()
                                              : failed_;
    records_[i] = supervisor_.failure(jobs_[i], supervisor_.order_for(jobs_[i]), outcome, why);
    if (!interrupted_) note_refusal(*records_[i], "arm", "beside it");
  }
}

double Supervisor::Duel::seconds_of(int64_t pairs) const {
  if (ended_ == 0) return 0;
  const auto rounds = static_cast<double>(score_.rounds() + rounds_to_get_going);
  return static_cast<double>(ended_ - began_) / 1e9 / rounds * static_cast<double>(pairs);
}

// One that failed ends it where it left nobody to take turns with: others may have gone on to the end of the budget.
std::string Supervisor::Duel::how_it_ended() const {
  return interrupted_ ? supervisor_.host_.interrupt_words() : budget_spent_ ? std::string("its budget is spent") : "arm " + failed_;
}

void Supervisor::Duel::judge() {
  for (size_t i = 0; i < jobs_.size(); ++i) {
    Record& record = *records_[i];
    record.point = jobs_[i].point;
    if (record.outcome != Outcome::ok) continue;
    record.facts["duel.pairs"] = score_.rounds();
    record.facts["duel.slice_ms"] = static_cast<double>(duel_slice) / 1e6;
    i == 0 ? judge_first(record) : judge_other(i, record);
  }
}

void Supervisor::Duel::judge_first(Record& record) const {
  size_t open = 0;
  for (size_t i = 1; i < jobs_.size(); ++i) open += score_.standing(i).difference == Difference::unknown ? 1 : 0;
  record.verdict = open == 0 ? Verdict::valid : Verdict::unstable;
  if (open > 0) record.reason = fmt::format("{} of {} arms show no significant difference from it: {}", open, jobs_.size() - 1, ending_);
}

void Supervisor::Duel::judge_other(size_t contender, Record& record) const {
  const DuelStanding standing = score_.standing(contender);
  const std::string words = duel_words(standing, name(0), margin_);
  record.facts["duel.result"] = words;
  if (standing.pairs >= PairedSequence::first_look) {
    Estimate& ratio = record.estimates["duel_ratio"] = {standing.ratio, {}, {}, standing.pairs};
    if (standing.interval) ratio.low = standing.interval->low, ratio.high = standing.interval->high;
  }
  const double needs = seconds_of(standing.pairs_needed);
  if (needs > 0) record.estimates["duel_needs_s"] = {needs, {}, {}, standing.pairs};
  record.verdict = standing.difference == Difference::unknown ? Verdict::unstable : Verdict::valid;
  if (record.verdict == Verdict::valid) return;
  record.reason = fmt::format("{}; {}", words, ending_);
  if (needs > 0) record.reason += fmt::format("; needs {} more", needed_words(needs));
}

void Supervisor::Duel::tell(size_t contender) const {
  if (!supervisor_.patience_.progress || !takes_part(contender)) return;
  const DuelStanding standing = score_.standing(contender);
  supervisor_.patience_.progress(
      jobs_[contender], fmt::format("{} pairs of time slices, {} times that of {}", score_.rounds(), number_text(standing.ratio), name(0)),
      0);
}

std::vector<Record> Supervisor::run_duel(const std::vector<Job>& jobs) { return Duel(*this, jobs).run(); }

}  // namespace deepgap
