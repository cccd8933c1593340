// For the plug-ins' tests: a Session on one of the networks of tiny_onnx.h that remembers what it delivered. What every engine must do is
// in tests/conformance; this is for what one engine does.
#pragma once

#include "base/test_error.h"

#include <deepgap/backend.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace deepgap {

struct TinyLoad {
  std::vector<int64_t> batches{2};
  int slots = 2;
  int threads = 1;
  std::map<std::string, std::string> options;
  Precision precision = Precision::fp32;
};

// Rows of three values, each a sample.
class ThreeWide {
 public:
  void stage(Session& session, const std::vector<std::vector<float>>& rows) {
    rows_ = rows;
    std::vector<std::vector<TensorView>> samples;
    for (const auto& row : rows_) samples.push_back({{DataType::f32, shape_, reinterpret_cast<const std::byte*>(row.data())}});
    session.stage(samples);
  }

 private:
  std::vector<std::vector<float>> rows_;
  Shape shape_{1, 3};
};

class TinyRig {
 public:
  // The Backend, Model and Clock outlive the rig.
  TinyRig(Backend& backend, const Model& model, Clock& clock, TinyLoad load = {}) {
    LoadOptions options;
    options.precision = load.precision;
    options.batch_sizes = std::move(load.batches);
    options.threads = load.threads;
    options.options = std::move(load.options);
    options.slots = load.slots;
    options.clock = &clock;
    options.completion = [this](std::span<const Done> done) { note(done); };
    session = backend.load(model, options);
  }

  void stage(const std::vector<std::vector<float>>& rows) { rows_.stage(*session, rows); }
  void run(int slot, const std::vector<uint32_t>& samples, uint64_t tag = 0) {
    session->enqueue(slot, samples, tag);
    session->drain();
  }
  std::vector<float> floats(int slot) const {
    const auto values = session->outputs(slot)[0].as<float>();
    return {values.begin(), values.end()};
  }

  // The statuses of all queries so far, the last one's marks, and the last failure's reason. Read them when nothing is pending.
  std::vector<Status> statuses;
  std::vector<std::thread::id> threads;
  std::vector<MarkId> marks;
  std::string error;

 private:
  void note(std::span<const Done> done) {
    const std::lock_guard lock(mutex_);
    for (const Done& one : done) {
      statuses.push_back(one.status);
      if (one.error != nullptr) error = one.error->what();
      threads.push_back(std::this_thread::get_id());
      marks.clear();
      for (const Mark& mark : one.marks) marks.push_back(mark.id);
    }
  }

  std::mutex mutex_;
  ThreeWide rows_;

 public:
  std::unique_ptr<Session> session;  // last, so that it goes first: it may still deliver
};

}  // namespace deepgap
