// Supervisor: has Batches of Jobs done by workers, one worker at a time, or
// one for each process of a Point that has several, for each tenant of a set, or for each contender of a duel. Whatever a worker does
// (crash, hang, run out of memory, lose its device) becomes the Record of the Job it did it to, and the rest goes on in a fresh one. Main
// thread only: workers die with the thread that started them.
#pragma once

#include "plan/planner.h"
#include "record/identity.h"
#include "run/worker_set.h"
#include "worker/order.h"

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace deepgap {

struct SupervisorSettings {
  std::chrono::nanoseconds timeout{std::chrono::seconds(60)};
  std::string run_id, study, cache_dir;
  std::string log_dir;        // RunSettings::log_dir
  bool log_dir_each = false;  // a folder for each Record
  bool log_trace = false;
  std::string save_weights = {};                      // RunSettings::save_weights
  bool save_weights_each = false;                     // a file for each Record
  uint64_t seed = 1;                                  // seed for the order of a duel's turns
  bool keep_cut_windows = false;                      // a window that the user ends is a result (WorkOrder)
  std::function<void(const std::string&)> note = {};  // receives lines for the user
};

class Supervisor {
 public:
  // Heard while a Job is under way: its phase and how many units of work that has finished.
  using Progress = std::function<void(const Job&, const std::string& phase, uint64_t done)>;
  using Receiver = std::function<void(const Job&, Record&&)>;

  // `fill` completes a Record that no worker could send, with what the inspection knows. The host outlives this.
  Supervisor(SupervisorSettings settings, WorkerHost& host, Progress progress, std::function<void(const Job&, Record&)> fill);

  // Hands each Record over as it comes; those of a set of tenants or of a duel come one after the other when all have ended. After an
  // interrupt the Job (or the set) under way is answered as `interrupted` and the rest is left out. What `receive` throws passes through;
  // the worker is gone then.
  void serve(const Batch& batch, const Receiver& receive);

 private:
  class TurnSession;         // run/turn_session.h
  class Duel;                // run/duel.h
  class InterleavedEngines;  // run/interleaved_engines.h
  struct Together {
    std::vector<Record> records;   // one for each worker; or that of `failed` alone
    std::optional<size_t> failed;  // the worker for which all were ended
  };
  Record run(const Job& job, std::optional<Worker>& worker);
  Record run_alone(const Job& job, std::optional<Worker>& worker);
  Record run_ranks(const Job& job, WorkOrder order);
  std::vector<Record> run_tenants(const std::vector<Job>& jobs);
  std::vector<Record> run_duel(const std::vector<Job>& jobs);
  std::vector<Record> run_interleaved(const std::vector<Job>& jobs, std::vector<Worker>& idle);
  void serve_interleaved(const Batch& batch, const Receiver& receive);
  bool answer_other(WorkerSet& workers, size_t place, const Frame& frame);
  std::optional<Heard> let_all_begin(WorkerSet& workers);
  Together run_together(WorkerSet& workers);
  Worker start(const Job& job, WorkOrder order);
  Answer ask(Worker& worker, const char* kind);
  Answer ask_for_end(Worker& worker);
  Answer await_end(Worker& worker, const char* kind);
  std::string make_reference(const Job& job, const WorkOrder& order);
  void provide_reference(Worker& worker);
  std::string log_folder(const Job& job) const;
  std::string weights_file(const Job& job) const;
  WorkOrder order_for(const Job& job) const;
  Record record_from(Worker& worker, const Answer& answer);
  Record death(Worker& worker);
  Record failure(const Job& job, const WorkOrder& order, Outcome outcome, const std::string& reason, WorkerLink* link = nullptr);

  SupervisorSettings settings_;
  WorkerHost& host_;
  WaitSettings wait_settings_;
  std::function<void(const Job&, Record&)> fill_;
  std::map<ReferenceSubject, std::string> unavailable_;  // why they have no reference
  std::set<ReferenceSubject> wrong_inputs_;              // since the samples or the model contradict themselves: no engine is to blame
  std::optional<Worker> kept_;                           // waits for a Batch of its group
  std::string kept_group_;
};

}  // namespace deepgap
