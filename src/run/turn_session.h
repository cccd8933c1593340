// TurnSession: arms load one after the other, so that none compiles or tunes beside another, stay loaded, and take turns in time slices.
// The kind of arms decides when that ends and what the slices show: those of a duel (run/duel.cpp) or interleaved engines
// (run/interleaved_engines.cpp). Main thread only.
#pragma once

#include "analysis/duel/duel_score.h"
#include "plan/duel_turns.h"
#include "run/supervisor.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace deepgap {

class Supervisor::TurnSession {
 public:
  struct Rules {
    Nanoseconds slice = duel_slice;
    double margin = 0;           // the smallest difference that counts
    bool needs_first = true;     // the session is over when the first arm fails, or all others have
    bool own_windows = false;    // each arm's own rule ends its window (WorkOrder::interleaved)
    Nanoseconds budget = never;  // for all turns together
  };

  // `idle`: workers of earlier sets, and where those go that may serve another; nullptr: none may. The Jobs outlive this.
  TurnSession(Supervisor& supervisor, const std::vector<Job>& jobs, std::vector<Worker>* idle, const Rules& rules);
  virtual ~TurnSession() = default;

  // Returns a Record for each Job; nullopt: it is to be measured apart, for the reason that apart() gives.
  std::vector<std::optional<Record>> run();
  const std::string& apart(size_t arm) const { return apart_[arm]; }

 protected:
  virtual std::string name(size_t arm) const = 0;
  virtual std::string progress_words(size_t arm) const = 0;
  virtual bool has_room_for(size_t /*arm*/) { return true; }
  virtual void keep_loaded(size_t /*arm*/, const nlohmann::json& /*said*/) {}  // what it said when it was ready; may throw
  virtual void all_loaded() {}
  virtual bool wants_turn(size_t /*arm*/) const { return true; }
  virtual void keep_turn(size_t /*arm*/, const nlohmann::json& /*done*/, int64_t /*round*/) {}  // negative rounds do not count; may throw
  virtual bool settled() const = 0;                                                             // no arm needs another turn
  virtual std::string why_apart_after(const Record& /*failed*/) const { return {}; }            // empty: its failure is its result
  virtual bool cut_counts() const { return true; }                                              // an interrupted session has results
  virtual void judge(size_t arm, Record& record) const = 0;  // what the slices show, of a Record that is ok

  bool takes_part(size_t arm) const { return !records_[arm] && apart_[arm].empty() && arm < workers_.size(); }
  size_t arms_taking_part() const;
  void measure_apart(size_t arm, const std::string& why);
  void refuse(size_t arm, const std::string& why);
  DuelStanding standing(size_t arm) const;  // against the first of the arms that were loaded
  // By the undisturbed parts of the slices, of an arm behind the first; once all have ended.
  std::optional<Estimate> undisturbed(size_t arm) const;
  // Adds it to the Record. Returns how many seconds more would settle it; 0: it is settled, or that is not known.
  double keep_ratio(const DuelStanding& standing, Record& record) const;

  Supervisor& supervisor_;
  const std::vector<Job>& jobs_;
  Rules rules_;
  std::vector<size_t> arms_;  // the places in jobs_ of those that are compared
  DuelScore score_;
  double kept_s_ = 0;   // the turns of rounds that count
  std::string ending_;  // how the session ended, for arms without a decision
  bool interrupted_ = false;

 private:
  bool goes_on() const;
  Worker worker_for(const Job& job, WorkOrder order);
  void leave(size_t arm);
  void drop(size_t arm);
  void load();
  bool load(size_t arm);
  void name_arms();
  void take_turns();
  bool take_round(int64_t round);
  struct Given {
    double items_per_s = 0, seconds = 0;
  };
  std::optional<Given> take_turn(size_t arm, int64_t round);
  void fail(size_t arm, const Answer& answer);
  void end();
  void account_for_the_rest();
  double seconds_of(int64_t pairs) const;
  Nanoseconds spent() const;
  std::string how_it_ended() const;
  void show_progress(size_t arm) const;

  std::vector<Worker>* idle_;
  WorkerSet workers_;
  std::vector<std::optional<Record>> records_;  // one for each arm that has ended
  std::vector<std::string> apart_;              // why an arm is to be measured apart; empty: it is not
  DuelTurns turns_;
  Nanoseconds began_ = 0, ended_ = 0;  // the first turn, and the last whole round
  double turned_s_ = 0;                // all turns on their workers' clocks
  std::string failed_;                 // who failed last, and how: where that left too few, it is why
  bool budget_spent_ = false;
};

}  // namespace deepgap
