// A Session for engines whose calls return with the result: a thread of its own, or one for each query that is computed at a time, answers
// queries in the order they came.
#pragma once

#include "backends/common/port.h"
#include "backends/common/query_queue.h"
#include "backends/common/slot_buffer.h"
#include "backends/common/staging.h"

#include <deepgap/backend.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace deepgap {

class SerialSession : public Session {
 public:
  int slots() const override { return static_cast<int>(queries_.size()); }
  void stage(std::span<const std::vector<TensorView>> inputs) override { staging_.stage(inputs); }
  void enqueue(int slot, std::span<const uint32_t> samples, uint64_t tag) override;
  void drain() override { queue_.drain(); }
  void cancel() override;

 protected:
  struct Query {
    std::vector<SlotBuffer> inputs;  // with room for the largest batch
    std::vector<uint32_t> samples;
    uint64_t tag = 0;
    Nanoseconds enqueued = 0;
  };

  // `engine` begins the messages. Throws Error{refused} where an input does not have a batch size that is loaded.
  SerialSession(const std::string& engine, const Model& model, const LoadOptions& options, std::vector<Port> inputs);

  // Starts the threads, which call `begin` first. The destructor of whoever starts them calls stop(), since they use all of it.
  void start(const std::function<void()>& begin, int threads = 1);
  void stop();  // cancels
  // Runs `work` on one of them while nothing is in flight, and returns then. Throws what it threw.
  void run_on_thread(const std::function<void()>& work);

  // Computes a query, on a thread; the batch is not larger than what was loaded. Writes the marks from compute_begin on, at most six, and
  // returns how many. What it throws is the failure of the query.
  virtual size_t compute(size_t slot, Query& query, std::span<Mark> marks) = 0;
  virtual Error error_of(const std::exception& failure) const = 0;

  std::string engine_;
  Clock& clock_;
  std::vector<Port> inputs_;
  int64_t largest_;  // batch
  Staging staging_;
  std::vector<Query> queries_;  // by slot

 private:
  void serve();
  void answer(size_t slot);
  void deliver(const Done& done) { completion_(std::span(&done, 1)); }

  Completion completion_;
  QueryQueue queue_;                              // holds slots; slots() stands for the function given to run_on_thread()
  const std::function<void()>* apart_ = nullptr;  // this function
  std::exception_ptr thrown_;                     // by it
  std::vector<std::thread> threads_;
};

}  // namespace deepgap
