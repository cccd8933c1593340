// PicturePreparer: pictures on their way from the file to a network's input, on a pool of threads: each takes the next sample that waits,
// maps its file (whole, so that its bytes are in memory), decodes it and resizes it into the input.
#pragma once

#include "dataset/picture_source.h"
#include "scenario/sample_preparer.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace deepgap {

class PicturePreparer final : public SamplePreparer {
 public:
  // The source and the Clock outlive it. Its threads run on the CPUs that are measured on, whatever the calling thread is pinned to.
  PicturePreparer(const PictureSource& source, int threads, Clock& clock);
  ~PicturePreparer() override;

  void on_prepared(Prepared prepared) override { prepared_ = std::move(prepared); }
  void prepare(uint32_t index, std::span<std::byte> input, uint64_t tag) override;
  void withdraw() override;

 private:
  struct Task {
    uint32_t index = 0;
    std::span<std::byte> input;
    uint64_t tag = 0;
  };
  void serve(const std::stop_token& stop);
  PreparedSample run(const Task& task) const;

  const PictureSource& source_;
  Clock& clock_;
  Prepared prepared_;
  std::mutex mutex_;  // guards tasks_
  std::condition_variable_any arrived_;
  std::deque<Task> tasks_;
  std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace deepgap
