// The thread of a Session on the CPU, which answers queries one after the other in the order they came.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace deepgap {

class QueryThread {
 public:
  using OfSlot = std::function<void(size_t slot)>;
  // `begin` is called once, first, on this thread. `answer`, on this thread, computes a slot's query and delivers it; `give_up`, on the
  // caller's, delivers one that never began. Either may enqueue the slot again.
  QueryThread(std::function<void()> begin, OfSlot answer, OfSlot give_up);
  ~QueryThread();  // cancels
  QueryThread(const QueryThread&) = delete;
  QueryThread& operator=(const QueryThread&) = delete;

  void enqueue(size_t slot);
  void drain();
  void cancel();  // gives up what has not begun, then drains
  // Runs `work` on this thread while nothing is in flight, and returns then. Throws what it threw.
  void run(const std::function<void()>& work);

 private:
  void serve();

  std::function<void()> begin_;
  OfSlot answer_, give_up_;
  std::mutex mutex_;  // guards all below
  std::condition_variable wake_, idle_;
  std::deque<size_t> waiting_;
  size_t pending_ = 0;                            // enqueued and not delivered
  const std::function<void()>* apart_ = nullptr;  // the function given to run()
  std::exception_ptr thrown_;                     // by it
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace deepgap
