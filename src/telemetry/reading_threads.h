// The threads of telemetry itself. How long they wait for a CPU disturbs nobody, so no probe counts them as threads of the worker.
#pragma once

namespace deepgap {

// Marks the calling thread as one for as long as this lives. Thread-safe, as below.
class ReadingThread {
 public:
  ReadingThread();
  ~ReadingThread();
  ReadingThread(const ReadingThread&) = delete;
  ReadingThread& operator=(const ReadingThread&) = delete;

 private:
  int id_;
};
bool is_reading_thread(int id);

}  // namespace deepgap
