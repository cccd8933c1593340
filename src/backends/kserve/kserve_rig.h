// For tests: a Session of the kserve backend on a scripted server's model `double`.
#pragma once

#include "backends/kserve/kserve_backend.h"
#include "base/clocks.h"

#include <deepgap/error.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {

// A server as tests name it: "http", or another scheme before the host.
inline EngineRequest request_to(const std::string& host, std::map<std::string, std::string> options = {}, int64_t batch = 1,
                                const std::string& scheme = "http") {
  EngineRequest request;
  request.placement = {1, {{host, scheme, 0}}};
  request.options = std::move(options);
  request.batch_sizes = {batch};
  return request;
}

// A Session on a server's "double", with samples 0: {0, 1, 2}, 1: {10, 11, 12}, and so on.
class Rig {
 public:
  explicit Rig(const std::string& host, std::map<std::string, std::string> options = {}, int64_t batch = 2,
               const std::string& scheme = "http") {
    LoadOptions load{request_to(host, std::move(options), batch, scheme)};
    Graph graph = backend.remote_model("double", load);
    graph.name = "double";
    model_ = std::make_unique<Named>(std::move(graph));
    load.slots = 4;
    load.clock = clock.get();
    load.completion = [this](std::span<const Done> done) { note(done); };
    session = backend.load(*model_, load);
    for (int i = 0; i < 4; ++i) rows_.push_back({10.F * i, 10.F * i + 1, 10.F * i + 2});
    std::vector<std::vector<TensorView>> samples;
    for (const auto& row : rows_) samples.push_back({{DataType::f32, shape_, reinterpret_cast<const std::byte*>(row.data())}});
    session->stage(samples);
  }

  void run(int slot, const std::vector<uint32_t>& samples, uint64_t tag = 0) {
    session->enqueue(slot, samples, tag);
    session->drain();
  }
  // Returns why the query failed, or "ok".
  std::string fate(const std::vector<uint32_t>& samples = {0}) {
    run(0, samples);
    const std::lock_guard lock(mutex_);
    return statuses_.back() == Status::ok ? "ok" : statuses_.back() == Status::cancelled ? "cancelled" : errors_.back();
  }
  std::vector<float> floats(int slot) const {
    const auto values = session->outputs(slot)[0].as<float>();
    return {values.begin(), values.end()};
  }
  std::vector<Status> statuses() {
    const std::lock_guard lock(mutex_);
    return statuses_;
  }

  KserveBackend backend;
  std::unique_ptr<Clock> clock = make_real_clock(0);

 private:
  class Named final : public Model {
   public:
    explicit Named(Graph graph) : graph_(std::move(graph)) {}
    const std::string& name() const override { return graph_.name; }
    const Graph& graph() const override { return graph_; }
    const GraphSummary& summary() const override { return summary_; }
    std::span<const std::byte> onnx() const override { return {}; }
    const std::string& file() const override { return file_; }

   private:
    Graph graph_;
    GraphSummary summary_;
    std::string file_;
  };
  void note(std::span<const Done> done) {
    const std::lock_guard lock(mutex_);
    for (const Done& one : done) {
      statuses_.push_back(one.status);
      if (one.error != nullptr) errors_.emplace_back(one.error->what());
    }
  }

  std::mutex mutex_;
  std::vector<Status> statuses_;
  std::vector<std::string> errors_;
  std::unique_ptr<Named> model_;
  std::vector<std::vector<float>> rows_;
  Shape shape_{1, 3};

 public:
  std::unique_ptr<Session> session;  // last: it may still deliver
};

}  // namespace deepgap
