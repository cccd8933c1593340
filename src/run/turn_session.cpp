#include "run/turn_session.h"

#include "analysis/duel/undisturbed_ratio.h"
#include "base/json_words.h"
#include "record/identity.h"
#include "record/record_json.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace deepgap {
namespace {

constexpr int rounds_to_get_going = 2;  // turns that are not kept

}  // namespace

Supervisor::TurnSession::TurnSession(Supervisor& supervisor, const std::vector<Job>& jobs, std::vector<Worker>* idle, const Rules& rules)
    : supervisor_(supervisor),
      jobs_(jobs),
      rules_(rules),
      score_(jobs.size(), rules.margin),
      idle_(idle),
      workers_(supervisor.wait_settings_),
      records_(jobs.size()),
      apart_(jobs.size()),
      turns_(jobs.size(), supervisor.settings_.seed + static_cast<uint64_t>(jobs.front().repeat)) {}

std::vector<std::optional<Record>> Supervisor::TurnSession::run() {
  load();
  if (goes_on()) all_loaded();
  if (goes_on()) take_turns();
  ending_ = how_it_ended();  // before the workers end: a failure after this ends nothing
  end();
  account_for_the_rest();
  for (size_t i = 0; i < jobs_.size(); ++i) {
    if (!records_[i]) continue;
    records_[i]->point = jobs_[i].point;
    if (records_[i]->outcome == Outcome::ok) judge(i, *records_[i]);
  }
  return std::move(records_);
}

size_t Supervisor::TurnSession::arms_taking_part() const {
  size_t count = 0;
  for (size_t i = 0; i < jobs_.size(); ++i) count += takes_part(i) ? 1 : 0;
  return count;
}

bool Supervisor::TurnSession::goes_on() const {
  if (interrupted_) return false;
  return rules_.needs_first ? takes_part(0) && arms_taking_part() > 1 : arms_taking_part() > 0;
}

// Returns a worker that has served the same engine with the same settings, if there is one.
Worker Supervisor::TurnSession::worker_for(const Job& job, WorkOrder order) {
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
void Supervisor::TurnSession::leave(size_t arm) {
  if (idle_ != nullptr && !spoils_worker(records_[arm]->outcome)) {
    idle_->push_back(workers_.release(arm));
  } else {
    workers_.drop(arm);
  }
}

void Supervisor::TurnSession::drop(size_t arm) {
  if (arm < workers_.size()) workers_.drop(arm);
  turns_.leave_out(arm);
}

void Supervisor::TurnSession::load() {
  for (size_t i = 0; i < jobs_.size(); ++i) {
    if (!has_room_for(i) || !load(i)) return;
    if (rules_.needs_first && records_[0]) return;  // nobody is left to be compared with
  }
}

// False: the session was broken off.
bool Supervisor::TurnSession::load(size_t arm) {
  const auto needs_reference = [&](size_t place, const Frame& frame) { return supervisor_.answer_other(workers_, place, frame); };
  WorkOrder order = supervisor_.order_for(jobs_[arm]);
  order.interleaved = rules_.own_windows;
  try {
    workers_.add(worker_for(jobs_[arm], std::move(order)));
  } catch (const Error& error) {
    failed_ = error.what();
    interrupted_ = true;  // the system had no process for it; --resume may find one
    return false;
  }
  send_order(workers_.at(arm), "run");
  nlohmann::json said;
  while (takes_part(arm)) {
    const auto failed = workers_.ready(arm, said, needs_reference);
    if (!failed) break;
    interrupted_ = interrupted_ || failed->answer.kind == Answer::Kind::interrupted || supervisor_.host_.interrupts() > 0;
    if (interrupted_) return false;
    fail(failed->worker, failed->answer);
  }
  if (!takes_part(arm)) return true;
  try {
    keep_loaded(arm, said);
  } catch (const std::exception& error) {
    fail(arm, {Answer::Kind::broken, {}, json_words(error)});
  }
  return true;
}

void Supervisor::TurnSession::measure_apart(size_t arm, const std::string& why) {
  apart_[arm] = why;
  drop(arm);
}

void Supervisor::TurnSession::refuse(size_t arm, const std::string& why) {
  records_[arm] = supervisor_.failure(jobs_[arm], workers_.at(arm).order, Outcome::refused, why);
  note_refusal(*records_[arm], "deepgap", "check");
  failed_ = why;
  drop(arm);
}

void Supervisor::TurnSession::take_turns() {
  began_ = supervisor_.host_.now();
  name_arms();
  for (int i = 0; i < rounds_to_get_going; ++i) {
    if (!take_round(-1)) return;
  }
  for (int64_t round = 0; take_round(round) && !settled();) ++round;
}

// Those that are loaded take part; all but the first of them are compared with the first.
void Supervisor::TurnSession::name_arms() {
  for (size_t i = 0; i < jobs_.size(); ++i) {
    if (takes_part(i)) arms_.push_back(i);
  }
  score_ = DuelScore(arms_.size(), rules_.margin);
}

// False: it was broken off, and the session is over.
bool Supervisor::TurnSession::take_round(int64_t round) {
  std::vector<double> items_per_s(jobs_.size(), 0);
  double seconds = 0;
  for (const size_t arm : turns_.next_round()) {
    if (!takes_part(arm) || !wants_turn(arm)) continue;
    budget_spent_ = round >= 0 && spent() >= rules_.budget;
    if (budget_spent_) return false;
    const auto gave = take_turn(arm, round);
    if (!goes_on()) return false;
    if (!gave) continue;
    turned_s_ += gave->seconds;
    items_per_s[arm] = gave->items_per_s;
    seconds += gave->seconds;
  }
  ended_ = began_ + spent();
  if (round < 0) return true;
  kept_s_ += seconds;
  std::vector<double> compared;
  for (const size_t arm : arms_) compared.push_back(items_per_s[arm]);
  score_.add_round(compared, seconds);
  show_progress(jobs_.size() - 1);
  return true;
}

// Since the first turn began. In virtual time turns take no time here: their own counts.
Nanoseconds Supervisor::TurnSession::spent() const {
  return std::max(supervisor_.host_.now() - began_, static_cast<Nanoseconds>(turned_s_ * 1e9));
}

// Whoever else fails meanwhile, the turn is waited for; an interrupt waits for its end too, but not for long.
std::optional<Supervisor::TurnSession::Given> Supervisor::TurnSession::take_turn(size_t arm, int64_t round) {
  Heard heard = workers_.turn(arm, {{"pair", round}, {"slice_ns", round < 0 ? duel_slice : rules_.slice}});
  while (!heard.answer.is(turn_frame::done) || heard.worker != arm) {
    if (heard.answer.kind == Answer::Kind::interrupted) {
      interrupted_ = true;
      heard = {arm, supervisor_.await_end(workers_.at(arm), turn_frame::done)};
      if (heard.answer.is(turn_frame::done)) break;
    }
    fail(heard.worker, heard.answer);
    if (heard.worker == arm) return std::nullopt;
    heard = {arm, hear_one(supervisor_.wait_settings_, workers_.at(arm))};
  }
  try {
    const nlohmann::json& done = heard.answer.frame.header.at("payload");
    keep_turn(arm, done, round);
    return Given{done.at("items_per_s").get<double>(), done.at("seconds").get<double>()};
  } catch (const nlohmann::json::exception& error) {
    fail(arm, {Answer::Kind::broken, {}, json_words(error)});
    return std::nullopt;
  }
}

void Supervisor::TurnSession::fail(size_t arm, const Answer& answer) {
  try {
    records_[arm] = supervisor_.record_from(workers_.at(arm), answer);
  } catch (const std::exception& error) {  // a record that is none
    records_[arm] = supervisor_.failure(jobs_[arm], workers_.at(arm).order, Outcome::crashed, error.what());
  }
  const Record& record = *records_[arm];
  if (const std::string why = why_apart_after(record); !why.empty()) {
    measure_apart(arm, why);
    records_[arm].reset();
    return;
  }
  failed_ = fmt::format("{}: {}: {}", name(arm), name_of(record.outcome), record.reason);
  drop(arm);
}

// Every worker that still takes part answers with what its turns gave, where there were some.
void Supervisor::TurnSession::end() {
  if (interrupted_ && !cut_counts()) return;
  if (arms_taking_part() == 0 || (score_.rounds() == 0 && (began_ == 0 || !goes_on()))) return;
  workers_.end_turns();
  const auto take = [&](size_t place, const Frame& frame) {
    if (frame.header.value("kind", "") != "record") return false;
    records_[place] = supervisor_.record_from(workers_.at(place), {Answer::Kind::frame, frame, {}});
    leave(place);
    return true;
  };
  while (const auto failed = workers_.collect(take)) fail(failed->worker, failed->answer);
}

// Arms without a result get a Record that says why.
void Supervisor::TurnSession::account_for_the_rest() {
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

// One that failed ends it where it left nobody to take turns with: others may have gone on to the end of the budget.
std::string Supervisor::TurnSession::how_it_ended() const {
  return interrupted_ ? supervisor_.host_.interrupt_words() : budget_spent_ ? std::string("its budget is spent") : "arm " + failed_;
}

double Supervisor::TurnSession::seconds_of(int64_t pairs) const {
  if (ended_ == 0) return 0;
  const auto rounds = static_cast<double>(score_.rounds() + rounds_to_get_going);
  return static_cast<double>(ended_ - began_) / 1e9 / rounds * static_cast<double>(pairs);
}

DuelStanding Supervisor::TurnSession::standing(size_t arm) const {
  const auto place = static_cast<size_t>(std::find(arms_.begin(), arms_.end(), arm) - arms_.begin());
  return place == 0 || place == arms_.size() ? DuelStanding{} : score_.standing(place);
}

std::optional<Estimate> Supervisor::TurnSession::undisturbed(size_t arm) const {
  if (arms_.size() < 2 || arm == arms_.front() || !records_[arms_.front()] || !records_[arm]) return std::nullopt;
  const double alpha = (1 - default_confidence) / static_cast<double>(arms_.size() - 1);  // as DuelScore shares it out
  return undisturbed_ratio(*records_[arms_.front()], *records_[arm], 1 - alpha);
}

double Supervisor::TurnSession::keep_ratio(const DuelStanding& standing, Record& record) const {
  if (standing.pairs >= PairedSequence::first_look) {
    Estimate& ratio = record.estimates["duel_ratio"] = {standing.ratio, {}, {}, standing.pairs};
    if (standing.interval) ratio.low = standing.interval->low, ratio.high = standing.interval->high;
  }
  const double needs = seconds_of(standing.pairs_needed);
  if (needs > 0) record.estimates["duel_needs_s"] = {needs, {}, {}, standing.pairs};
  return needs;
}

void Supervisor::TurnSession::show_progress(size_t arm) const {
  if (supervisor_.wait_settings_.progress && takes_part(arm)) supervisor_.wait_settings_.progress(jobs_[arm], progress_words(arm), 0);
}

}  // namespace deepgap
