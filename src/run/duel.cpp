// Arms load one after the other, so that none compiles or tunes beside another, stay loaded, and take turns in time slices.
//
// A duel (--duel) compares arms: it ends when every one of them differs from the first or is known to be the same and the shortest duration
// asked for has passed, or when the budget is spent. One that fails leaves nothing to compare.
//
// Interleaved engines (Job::interleave) are results of their own: each takes slices until its own rule has ended, as when it is measured
// alone, and one that fails does not end the others. One that fails where it may be for want of room, and all of them where one disturbs
// the others while it waits, are measured apart after it.
#include "analysis/duel/duel_score.h"
#include "base/json_words.h"
#include "base/quantity.h"
#include "base/text.h"
#include "plan/duel_turns.h"
#include "plan/shuffle.h"
#include "record/duel_set.h"
#include "record/identity.h"
#include "record/record_json.h"
#include "run/interleave.h"
#include "run/supervisor.h"
#include "worker/memory_limit.h"
#include "worker/output_sketch.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <random>
#include <utility>

namespace deepgap {
namespace {

constexpr int rounds_to_get_going = 2;  // turns that are not kept
// Two that are each so near to the truth may be apart by the sum of both errors.
constexpr double both_errors_db = 6;

// A waiting engine may spin for as long as the next one's slice leaves out at its beginning: a tenth, on each of its threads. Telemetry
// reads for a little besides.
constexpr double waiting_share_allowed = 0.1, waiting_cpus_allowed = 0.05;
constexpr int64_t rounds_watched = 4;  // for that
// Memory that must be available for the next engine, over the most that one of those before has used.
constexpr double memory_margin = 1.25;

bool may_lack_room(Outcome outcome) {
  return outcome == Outcome::out_of_memory || outcome == Outcome::crashed || outcome == Outcome::device_lost;
}

}  // namespace

class Supervisor::Duel {
 public:
  // `idle`: workers of earlier sets, and where those go that may serve another; nullptr: none may.
  Duel(Supervisor& supervisor, const std::vector<Job>& jobs, std::vector<Worker>* idle)
      : supervisor_(supervisor),
        jobs_(jobs),
        idle_(idle),
        engines_(jobs.front().interleave),
        slice_(engines_ ? slice_length(jobs.front().stopping) : duel_slice),
        workers_(supervisor.patience_),
        answers_(jobs.size()),
        records_(jobs.size()),
        apart_(jobs.size()),
        ended_their_window_(jobs.size(), false),
        margin_(engines_ ? interleaved_margin : jobs.front().stopping.interval),
        score_(jobs.size(), margin_),
        turns_(jobs.size(), supervisor.settings_.seed + static_cast<uint64_t>(jobs.front().repeat)) {}

  // nullopt: to be measured apart, for a reason that apart() gives.
  std::vector<std::optional<Record>> run() {
    load();
    if (goes_on()) refuse_other_answers();
    if (goes_on()) take_turns();
    ending_ = how_it_ended();  // before the workers end: a failure after this ends nothing
    end();
    judge();
    return std::move(records_);
  }
  const std::string& apart(size_t i) const { return apart_[i]; }

 private:
  std::string name(size_t i) const { return engines_ ? jobs_[i].point.backend : contender_name(jobs_[i].point); }
  bool takes_part(size_t i) const { return !records_[i] && apart_[i].empty() && i < workers_.size(); }
  bool goes_on() const {
    size_t others = 0;
    if (engines_) return !interrupted_ && arms_taking_part() > 0;
    for (size_t i = 1; i < jobs_.size(); ++i) others += takes_part(i) ? 1 : 0;
    return takes_part(0) && others > 0 && !interrupted_;
  }

  size_t arms_taking_part() const {
    size_t count = 0;
    for (size_t i = 0; i < jobs_.size(); ++i) count += takes_part(i) ? 1 : 0;
    return count;
  }

  Worker worker_for(const Job& job, WorkOrder order);
  void leave(size_t arm);
  void load();
  bool has_room_for(size_t next);
  void measure_apart(size_t arm, const std::string& why);
  void watch_waiting(size_t arm, const nlohmann::json& done, int64_t pair);
  bool settled() const;
  void name_arms();
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
  void judge_engine(size_t engine, Record& record) const;
  double keep_ratio(const DuelStanding& standing, Record& record) const;
  std::string how_it_ended() const;
  double seconds_of(int64_t pairs) const;
  Nanoseconds spent() const;
  void tell(size_t contender) const;

  Supervisor& supervisor_;
  const std::vector<Job>& jobs_;
  std::vector<Worker>* idle_;
  bool engines_;  // interleaved engines, not the arms of a duel
  Nanoseconds slice_;
  WorkerSet workers_;
  std::vector<OutputSketch> answers_;
  std::vector<std::optional<Record>> records_;  // one for each contender that has ended
  std::vector<std::string> apart_;              // why an engine is to be measured apart; empty: it is not
  std::vector<bool> ended_their_window_;        // engines whose rule has ended
  double most_memory_ = 0;                      // bytes that one of the loaded engines used
  double margin_;
  std::vector<size_t> arms_;  // the places in jobs_ of those that are compared
  DuelScore score_;
  DuelTurns turns_;
  Nanoseconds began_ = 0, ended_ = 0;  // the first turn, and the last whole round
  double turned_s_ = 0;                // all turns on their workers' clocks
  double kept_s_ = 0;                  // those of rounds that count
  std::string failed_;                 // who failed last, and how: where that left no duel, it is why
  std::string ending_;                 // how the duel ended, for contenders without a decision
  bool interrupted_ = false, budget_spent_ = false;
};

// Returns a worker that has served the same engine with the same settings, if there is one.
Worker Supervisor::Duel::worker_for(const Job& job, WorkOrder order) {
  const auto serves = [&](const Worker& worker) {
    Point before = worker.order.point;
    before.batch = job.point.batch;
    before.dataset = job.point.dataset;
    before.scenario = job.point.scenario;
    return before == job.point && !worker.link->ended();
  };
  if (idle_ != nullptr) {
    const auto found = std::find_if(idle_->begin(), idle_->end(), serves);
    if (found != idle_->end()) {
      Worker worker = std::move(*found);
      idle_->erase(found);
      worker.job = &job;
      worker.order = std::move(order);
      worker.reference_asked = false;
      return worker;
    }
  }
  return supervisor_.start(job, std::move(order));
}

// One whose Record is complete waits for another set, where it may.
void Supervisor::Duel::leave(size_t arm) {
  if (idle_ != nullptr && !spoils_worker(records_[arm]->outcome)) {
    idle_->push_back(workers_.release(arm));
  } else {
    workers_.drop(arm);
  }
}

void Supervisor::Duel::load() {
  const auto needs_reference = [&](size_t place, const Frame& frame) { return supervisor_.answer_other(workers_, place, frame); };
  for (size_t i = 0; i < jobs_.size(); ++i) {
    if (!has_room_for(i)) return;
    WorkOrder order = supervisor_.order_for(jobs_[i]);
    order.interleaved = engines_;
    try {
      workers_.add(worker_for(jobs_[i], std::move(order)));
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
    if (!engines_ && records_[0]) return;  // nobody is left to be compared with
    if (!takes_part(i)) continue;
    try {
      answers_[i] = sketch_from_json(said.at("answers"));
      most_memory_ = std::max(most_memory_, said.value("memory_bytes", 0.0));
    } catch (const std::exception& error) {
      fail(i, {Answer::Kind::broken, {}, json_words(error)});
    }
  }
}

// The machine's memory is not to be filled by engines that wait: where the next one may not find as much as the largest took, it and those
// behind it are measured apart.
bool Supervisor::Duel::has_room_for(size_t next) {
  if (!engines_ || most_memory_ <= 0) return true;
  const auto available = memory_for_worker(SystemRoot("/"));
  if (!available || static_cast<double>(*available) >= memory_margin * most_memory_) return true;
  for (size_t i = next; i < jobs_.size(); ++i) apart_[i] = "memory does not suffice for all engines together";
  return false;
}

void Supervisor::Duel::measure_apart(size_t arm, const std::string& why) {
  apart_[arm] = why;
  if (arm < workers_.size()) workers_.drop(arm);
  turns_.leave_out(arm);
}

// An engine whose threads go on spinning takes CPUs from the one that is measured.
void Supervisor::Duel::watch_waiting(size_t arm, const nlohmann::json& done, int64_t pair) {
  const double cpus = done.value("cpus_waiting", 0.0);
  if (!engines_ || pair > rounds_watched || arms_taking_part() < 2) return;
  if (cpus <= waiting_share_allowed * jobs_[arm].point.threads + waiting_cpus_allowed) return;
  const std::string why = fmt::format("{} uses {} CPUs while it waits for its turn", name(arm), number_text(cpus));
  for (size_t i = 0; i < jobs_.size(); ++i) {
    if (takes_part(i)) measure_apart(i, why);
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
  name_arms();
  for (int i = 0; i < rounds_to_get_going; ++i) {
    if (!take_round(-1)) return;
  }
  for (int64_t pair = 0; take_round(pair) && !settled();) ++pair;
}

bool Supervisor::Duel::settled() const {
  if (!engines_ && kept_s_ * 1e9 < static_cast<double>(jobs_.front().stopping.duration.value_or(0))) return false;
  for (size_t i = engines_ ? 0 : 1; i < jobs_.size(); ++i) {
    if (takes_part(i) && !(engines_ ? ended_their_window_[i] : score_.settled(i))) return false;
  }
  return true;
}

// Those that are loaded take part; all but the first of them are compared with the first.
void Supervisor::Duel::name_arms() {
  for (size_t i = 0; i < jobs_.size(); ++i) {
    if (!engines_ || takes_part(i)) arms_.push_back(i);
  }
  if (engines_) score_ = DuelScore(arms_.size(), margin_);
}

// False: it was broken off, and the duel is over.
bool Supervisor::Duel::take_round(int64_t pair) {
  std::vector<double> items_per_s(jobs_.size(), 0);
  double seconds = 0;
  for (const size_t contender : turns_.next_round()) {
    if (!takes_part(contender) || ended_their_window_[contender]) continue;
    budget_spent_ = !engines_ && pair >= 0 && spent() >= jobs_.front().stopping.budget;
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
  std::vector<double> of_arms;
  for (const size_t arm : arms_) of_arms.push_back(items_per_s[arm]);
  score_.add_round(of_arms, seconds);
  tell(jobs_.size() - 1);
  return true;
}

// Since the first turn began. In virtual time turns take no time here: their own counts.
Nanoseconds Supervisor::Duel::spent() const {
  return std::max(supervisor_.host_.now() - began_, static_cast<Nanoseconds>(turned_s_ * 1e9));
}

// Whoever else fails meanwhile, the turn is waited for; an interrupt waits for its end too, but not for long.
std::optional<Supervisor::Duel::Given> Supervisor::Duel::take_turn(size_t contender, int64_t pair) {
  Heard heard = workers_.turn(contender, {{"pair", pair}, {"slice_ns", pair < 0 ? duel_slice : slice_}});
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
    ended_their_window_[contender] = engines_ && payload.at("ended").get<bool>();
    watch_waiting(contender, payload, pair);
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
  if (engines_ && may_lack_room(record.outcome) && arms_taking_part() > 0) {
    measure_apart(contender, fmt::format("{} beside other engines: {}", name_of(record.outcome), record.reason));
    records_[contender].reset();
    return;
  }
  failed_ = fmt::format("{}: {}: {}", name(contender), name_of(record.outcome), record.reason);
  workers_.drop(contender);
  turns_.leave_out(contender);
}

// Every worker that still takes part answers with what its turns gave, where there were some.
void Supervisor::Duel::end() {
  const bool may_be_cut = !engines_ || !interrupted_ || supervisor_.settings_.keep_cut_windows;
  if (may_be_cut && arms_taking_part() > 0 && (score_.rounds() > 0 || (began_ > 0 && goes_on()))) {
    workers_.end_turns();
    const auto take = [&](size_t place, const Frame& frame) {
      if (frame.header.value("kind", "") != "record") return false;
      records_[place] = supervisor_.record_from(workers_.at(place), {Answer::Kind::frame, frame, {}});
      leave(place);
      return true;
    };
    while (const auto failed = workers_.collect(take)) fail(failed->worker, failed->answer);
  }
  for (size_t i = 0; i < jobs_.size(); ++i) {
    if (records_[i] || (!apart_[i].empty() && !interrupted_)) continue;
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
    if (!records_[i]) continue;  // measured apart
    Record& record = *records_[i];
    record.point = jobs_[i].point;
    if (record.outcome != Outcome::ok) continue;
    if (engines_) {
      judge_engine(i, record);
      continue;
    }
    record.facts["duel.pairs"] = score_.rounds();
    record.facts["duel.slice_ms"] = static_cast<double>(duel_slice) / 1e6;
    i == 0 ? judge_first(record) : judge_other(i, record);
  }
}

// The worker judged its window; what the slices together show is added.
void Supervisor::Duel::judge_engine(size_t engine, Record& record) const {
  const auto arm = static_cast<size_t>(std::find(arms_.begin(), arms_.end(), engine) - arms_.begin());
  if (arms_.size() < 2 || arm == arms_.size()) return;
  std::vector<std::string> names;
  for (const size_t i : arms_) names.push_back(name(i));
  record.facts[interleaved_arms_fact] = join(names, " + ");
  record.facts[interleaved_arm_fact] = fmt::format("{}/{}", arm + 1, arms_.size());
  record.facts["interleaved.slice_ms"] = static_cast<double>(slice_) / 1e6;
  if (arm == 0) return;
  const DuelStanding standing = score_.standing(arm);
  const double needs = keep_ratio(standing, record);
  std::string words = duel_words(standing, names.front(), margin_);
  if (needs > 0 && standing.difference == Difference::unknown) words += fmt::format("; needs {} more", needed_words(needs));
  record.facts[interleaved_result_fact] = words;
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
  const double needs = keep_ratio(standing, record);
  record.verdict = standing.difference == Difference::unknown ? Verdict::unstable : Verdict::valid;
  if (record.verdict == Verdict::valid) return;
  record.reason = fmt::format("{}; {}", words, ending_);
  if (needs > 0) record.reason += fmt::format("; needs {} more", needed_words(needs));
}

// Returns how many seconds more would settle it; 0: it is settled, or that is not known.
double Supervisor::Duel::keep_ratio(const DuelStanding& standing, Record& record) const {
  if (standing.pairs >= PairedSequence::first_look) {
    Estimate& ratio = record.estimates["duel_ratio"] = {standing.ratio, {}, {}, standing.pairs};
    if (standing.interval) ratio.low = standing.interval->low, ratio.high = standing.interval->high;
  }
  const double needs = seconds_of(standing.pairs_needed);
  if (needs > 0) record.estimates["duel_needs_s"] = {needs, {}, {}, standing.pairs};
  return needs;
}

void Supervisor::Duel::tell(size_t contender) const {
  if (!supervisor_.patience_.progress || !takes_part(contender)) return;
  if (engines_) {
    supervisor_.patience_.progress(jobs_[contender], fmt::format("{} rounds of time slices", score_.rounds()), 0);
    return;
  }
  const DuelStanding standing = score_.standing(contender);
  supervisor_.patience_.progress(
      jobs_[contender], fmt::format("{} pairs of time slices, {} times that of {}", score_.rounds(), number_text(standing.ratio), name(0)),
      0);
}

// Sets follow each other in random order.
void Supervisor::serve_interleaved(const Batch& batch, const Receiver& receive) {
  std::vector<std::vector<size_t>> sets = interleaved_sets(batch.jobs);
  std::mt19937_64 random(settings_.seed + static_cast<uint64_t>(batch.jobs.front().repeat));
  shuffle(sets, random);
  std::vector<Worker> idle;
  for (const std::vector<size_t>& set : sets) {
    if (host_.interrupts() > 0) return;
    std::vector<Job> jobs;
    for (const size_t i : set) jobs.push_back(batch.jobs[i]);
    std::vector<Record> records;
    if (jobs.size() > 1) {
      records = run_duel(jobs, &idle);
    } else {
      std::optional<Worker> fresh;
      records.push_back(run(jobs.front(), fresh));
    }
    for (size_t i = 0; i < set.size(); ++i) receive(batch.jobs[set[i]], std::move(records[i]));
  }
}

std::vector<Record> Supervisor::run_duel(const std::vector<Job>& jobs, std::vector<Worker>* idle) {
  Duel duel(*this, jobs, idle);
  std::vector<std::optional<Record>> found = duel.run();
  std::vector<Record> records;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (found[i]) {
      records.push_back(std::move(*found[i]));
      continue;
    }
    if (settings_.note) settings_.note(fmt::format("note: {} is measured apart: {}", jobs[i].point.backend, duel.apart(i)));
    std::optional<Worker> fresh;
    records.push_back(run(jobs[i], fresh));
    records.back().facts["interleaved.apart"] = duel.apart(i);
  }
  return records;
}

}  // namespace deepgap
