// Supervisor: has Batches of Jobs done by workers, one worker at a time, or
// one for each process of a Point that has several, or one for each tenant of a set. Whatever a worker does (crash, hang, run out of
// memory, lose its device) becomes the Record of the Job it did it to, and the rest goes on in a fresh one. Main thread only: workers die
// with the thread that started them.
#pragma once

#include "plan/planner.h"
#include "run/child_process.h"
#include "run/interrupts.h"
#include "worker/order.h"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

struct SupervisorSettings {
  std::chrono::nanoseconds timeout{std::chrono::seconds(60)};
  std::string run_id, study, cache_dir;
  std::string mlperf_log;        // RunSettings::mlperf_log
  bool mlperf_log_each = false;  // a folder for each Record
  bool mlperf_trace = false;
};

class Supervisor {
 public:
  // Heard while a Job is under way: its stage and how many queries that has finished.
  using Progress = std::function<void(const Job&, const std::string& stage, uint64_t done)>;
  using Receiver = std::function<void(const Job&, Record&&)>;

  // `fill` completes a Record that no worker could send, with what the inspection knows.
  Supervisor(SupervisorSettings settings, Interrupts& interrupts, Progress progress, std::function<void(const Job&, Record&)> fill);

  // Hands each Record over as it comes; those of a set of tenants come one after the other when all have ended. After an interrupt the Job
  // (or the set) under way is answered as `interrupted` and the rest is left out.
  // What `receive` throws passes through; the worker is gone then.
  void serve(const Batch& batch, const Receiver& receive);

 private:
  struct Answer {
    enum class Kind { frame, died, silent, interrupted } kind = Kind::frame;
    Frame frame;
    const char* killed = "";  // interrupted: why the worker was not waited for any longer
  };
  struct Rank {
    const Job* job = nullptr;  // of tenants each has its own
    WorkOrder order;
    std::unique_ptr<ChildProcess> worker;
  };
  struct Together {
    std::vector<Record> records;   // of all ranks; or of `failed` alone
    std::optional<size_t> failed;  // the rank for which all were ended
  };
  static bool is_frame(const Answer& answer, const char* kind);
  Record run(const Job& job);
  Rank start_rank(const Job& job, WorkOrder order);
  Record run_ranks(const Job& job, WorkOrder order);
  std::vector<Record> run_tenants(const std::vector<Job>& jobs);
  Together run_together(std::vector<Rank>& ranks);
  Answer ask(ChildProcess& worker, const char* kind, const Job& job, const WorkOrder& order);
  Answer await(ChildProcess& worker, const Job& job);
  Answer await_barrier(Rank& rank);
  Together failure_of(std::vector<Rank>& ranks, size_t failed, const Answer& answer);
  Answer ask_for_end(ChildProcess& worker);
  std::string make_reference(const Job& job, const WorkOrder& order);
  std::string log_folder(const Job& job) const;
  WorkOrder order_for(const Job& job) const;
  Record record_from(const Job& job, const WorkOrder& order, const Answer& answer);
  Record failure(const Job& job, const WorkOrder& order, Outcome outcome, const std::string& reason);
  Record death(const Job& job, const WorkOrder& order);

  SupervisorSettings settings_;
  Interrupts& interrupts_;
  Progress progress_;
  std::function<void(const Job&, Record&)> fill_;
  std::unique_ptr<ChildProcess> worker_;
  std::string stage_;                               // where the worker is
  int64_t out_of_memory_kills_ = 0;                 // by the kernel, before the worker began
  std::map<std::string, std::string> unavailable_;  // why a model and dataset have no reference
};

}  // namespace deepgap
