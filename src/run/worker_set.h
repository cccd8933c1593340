// WorkerSet: several workers that stay loaded and are driven together: all from one instant, or in turns, as worker/turns.h says. A worker
// that hangs, dies, or answers what is not asked for is found wherever the others are, and reported; the caller decides what becomes of the
// rest. Main thread only.
#pragma once

#include "plan/planner.h"
#include "run/worker_link.h"
#include "worker/order.h"
#include "worker/turns.h"

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {

// A worker and what it was started for.
struct Worker {
  const Job* job = nullptr;
  WorkOrder order;
  std::unique_ptr<WorkerLink> link;
  std::string phase;                // where it is, by its heartbeats; empty: before it began
  int64_t out_of_memory_kills = 0;  // by the kernel, before it began
  bool reference_asked = false;     // it has said once that it needs one
};

// The outcome of waiting for a worker.
struct Answer {
  enum class Kind {
    frame,
    died,
    silent,  // no heartbeat and no frame for as long as one is patient
    broken,  // bytes that are no frame, or a frame that nobody asked for
    interrupted,
  } kind = Kind::frame;
  Frame frame;
  std::string defect;  // for broken; for interrupted, how it ended, to be added to "interrupted by the user"
  bool is(const char* frame_kind) const { return kind == Kind::frame && frame.header.value("kind", "") == frame_kind; }
};

struct Heard {
  size_t worker = 0;  // its place in the set; of an interrupt the first one that is waited for
  Answer answer;
};

// The way in which the parent waits.
struct WaitSettings {
  WorkerHost& host;
  std::chrono::nanoseconds timeout;  // that a worker may be silent while it is waited for
  // Heard while waiting: of the first worker that is waited for, where it is and how many units of work it has finished.
  std::function<void(const Job&, const std::string& phase, uint64_t done)> progress;
};

class WorkerSet {
 public:
  using Payloads = std::vector<nlohmann::json>;
  // Makes the answer to all workers from what each said.
  using Agree = std::function<nlohmann::json(const Payloads&)>;
  // Handles a frame of that worker that is not the one waited for. True: it is dealt with, and the worker will speak again.
  using Otherwise = std::function<bool(size_t worker, const Frame& frame)>;

  explicit WorkerSet(const WaitSettings& wait_settings) : wait_settings_(wait_settings) {}

  size_t add(Worker worker);  // has been sent its order; its place
  Worker& at(size_t worker) { return workers_.at(worker); }
  size_t size() const { return workers_.size(); }
  // Hands it out, for another order; it is not waited for any more.
  Worker release(size_t worker) { return std::move(workers_.at(worker)); }
  // Ends it. It is not waited for any more.
  void drop(size_t worker) { workers_.at(worker).link.reset(); }

  // These wait for every worker that was not dropped, but for ready(); nullopt: all went well, else who did not, and what came instead.
  std::optional<Heard> meet(const Agree& agree, const Otherwise& otherwise);  // all come to the meeting and get the answer
  // Waits until that one is loaded and warm; the others may be ready already, and none of them ends meanwhile.
  std::optional<Heard> ready(size_t worker, nlohmann::json& said, const Otherwise& otherwise);
  // Each one's answer to its order, in order of coming; `take` gives false for one that ends the set.
  std::optional<Heard> collect(const std::function<bool(size_t worker, const Frame& frame)>& take);

  // One worker's turn, while the others wait: its frame "done", or what came instead; then also another worker's end.
  Heard turn(size_t worker, const nlohmann::json& payload);
  void end_turns();  // collect() comes next

 private:
  std::vector<size_t> present() const;

  WaitSettings wait_settings_;
  std::vector<Worker> workers_;
};

// Returns whether the process may be in any state after such an outcome: the next Job gets a fresh one.
bool spoils_worker(Outcome outcome);

// Sends the worker its order once more, from the beginning. `kind`: run, or reference.
void send_order(Worker& worker, const char* kind);

// The first frame of `worker` that is no heartbeat, or why none came by then.
Answer hear_one(const WaitSettings& wait_settings, Worker& worker, Nanoseconds until = never);

}  // namespace deepgap
