#include "worker/picture_preparer.h"

#include "base/file.h"
#include "telemetry/affinity.h"
#include "telemetry/environment.h"

#include <exception>

namespace deepgap {

PicturePreparer::PicturePreparer(const PictureSource& source, int threads, Clock& clock) : source_(source), clock_(clock) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this, cpus = measured_cpus()](const std::stop_token& stop) {
      pin_thread(cpus);
      serve(stop);
    });
  }
}

PicturePreparer::~PicturePreparer() {
  const std::lock_guard lock(mutex_);
  tasks_.clear();
}

void PicturePreparer::prepare(uint32_t index, std::span<std::byte> input, uint64_t tag) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back({index, input, tag});
  }
  arrived_.notify_one();
}

void PicturePreparer::withdraw() {
  std::deque<Task> given_up;
  {
    const std::lock_guard lock(mutex_);
    given_up.swap(tasks_);
  }
  const Nanoseconds now = clock_.now();
  for (const Task& task : given_up) prepared_({task.tag, now, now, now, now, "given up"});
}

void PicturePreparer::serve(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (arrived_.wait(lock, stop, [this] { return !tasks_.empty(); })) {
    const Task task = tasks_.front();
    tasks_.pop_front();
    lock.unlock();
    prepared_(run(task));
    lock.lock();
  }
}

PreparedSample PicturePreparer::run(const Task& task) const {
  PreparedSample sample{task.tag, clock_.now()};
  try {
    const std::string& path = source_.path(task.index);
    const MappedFile file = map_file(path);
    sample.read = clock_.now();
    const Picture picture = decode_picture(path, file.bytes());
    sample.decoded = clock_.now();
    source_.fill(task.index, picture, {reinterpret_cast<float*>(task.input.data()), task.input.size() / sizeof(float)});
    sample.end = clock_.now();
  } catch (const std::exception& error) {
    sample.read = sample.decoded = sample.end = clock_.now();
    sample.failure = error.what();
  }
  return sample;
}

}  // namespace deepgap
