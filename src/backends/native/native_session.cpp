#include "backends/native/native_session.h"

#include "backends/native/batch_io.h"
#include "engine/cpu/network.h"
#include "engine/cpu/operators.h"
#include "model/eval/evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>

namespace deepgap {
namespace {

std::string option(const LoadOptions& options, const std::string& name, std::initializer_list<std::string_view> allowed) {
  const auto it = options.options.find(name);
  if (it == options.options.end()) return std::string(*allowed.begin());
  if (std::find(allowed.begin(), allowed.end(), it->second) == allowed.end())
    throw Error(ErrorKind::refused, fmt::format("native: option {}={} is not one of {}", name, it->second, fmt::join(allowed, ", ")));
  return it->second;
}

// A whole number from 1 on; 0 for "auto" and where the option is not given.
int64_t count_option(const LoadOptions& options, const std::string& name) {
  const auto it = options.options.find(name);
  if (it == options.options.end() || it->second == "auto") return 0;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(it->second.data(), it->second.data() + it->second.size(), value);
  if (error != std::errc() || end != it->second.data() + it->second.size() || value < 1)
    throw Error(ErrorKind::refused, fmt::format("native: option {}={} is neither auto nor a number from 1 on", name, it->second));
  return value;
}

void refuse_unknown_operators(const Graph& graph, bool plain) {
  const auto evaluated = evaluated_operators();
  for (const auto& node : graph.nodes) {
    const std::string op = node.domain.empty() ? node.op : node.domain + "." + node.op;
    if (!runs_natively(node.op, node.domain))
      throw Error(ErrorKind::refused, fmt::format("native does not run operator {} (node {})", op, node.name));
    if (plain && !std::binary_search(evaluated.begin(), evaluated.end(), node.op))
      throw Error(ErrorKind::refused, fmt::format("native with path=plain does not run operator {} (node {})", op, node.name));
  }
}

// What both paths share: staging, slots, marks, completion, errors.
class NativeSession : public Session {
 public:
  NativeSession(const Model& model, const LoadOptions& options)
      : options_(options), io_(model.graph(), options.batch_sizes, options.slots) {}

  int slots() const override { return options_.slots; }
  void stage(std::span<const std::vector<TensorView>> inputs) override { io_.stage(inputs); }
  std::span<const TensorView> outputs(int slot) const override { return io_.outputs(slot); }
  void drain() override {}  // nothing runs outside enqueue()
  void cancel() override {}
  std::string last_error() const override { return last_error_; }

  void enqueue(int slot, std::span<const uint32_t> samples, uint64_t tag) override {
    std::array<Mark, 4> marks{};
    const auto mark = [&](size_t position, MarkId id) { marks[position] = {id, 0, now()}; };
    Done done{.tag = tag};
    mark(0, MarkId::enqueued);
    try {
      prepare(slot, samples);
      mark(1, MarkId::compute_begin);
      compute(slot, samples);
      mark(2, MarkId::compute_end);
      mark(3, MarkId::returned);
      done.marks = marks;
    } catch (const std::exception& error) {
      last_error_ = error.what();
      done.status = Status::failed;
      done.marks = std::span(marks).first(1);
    }
    if (options_.completion) options_.completion(std::span(&done, 1));
  }

 protected:
  virtual void prepare(int slot, std::span<const uint32_t> samples) = 0;  // inputs gathered
  virtual void compute(int slot, std::span<const uint32_t> samples) = 0;  // outputs written

  Nanoseconds now() const {
    if (options_.clock != nullptr) return options_.clock->now();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  LoadOptions options_;
  BatchIo io_;
  std::string last_error_;
};

class FastSession : public NativeSession {
 public:
  FastSession(const Model& model, const LoadOptions& options, const NetworkOptions& network)
      : NativeSession(model, options), network_(model.graph(), network) {
    for (int64_t batch : options.batch_sizes) io_.reserve(network_.plan_for(batch)->outputs);
  }

  MemoryUse memory() const override {
    const auto bytes = static_cast<int64_t>(network_.arena_bytes() + network_.weight_bytes() + io_.reserved_bytes());
    return {bytes, bytes, bytes};  // all of it is taken at load
  }

  std::vector<LayerTiming> layer_timings() override {
    const int64_t batch = *std::max_element(options_.batch_sizes.begin(), options_.batch_sizes.end());
    const std::vector<uint32_t> samples(static_cast<size_t>(batch), 0);
    prepare(0, samples);
    return network_.run_timed(*plan_, io_.inputs(), io_.output_addresses(0), [this] { return now(); });
  }

 private:
  void prepare(int slot, std::span<const uint32_t> samples) override {
    plan_ = network_.plan_for(static_cast<int64_t>(samples.size()));
    if (plan_ == nullptr || samples.empty())
      throw Error(ErrorKind::refused, fmt::format("native: {} samples were enqueued, batch sizes loaded: {}", samples.size(),
                                                  fmt::join(options_.batch_sizes, ", ")));
    io_.gather(slot, samples, plan_->batch);
  }
  void compute(int slot, std::span<const uint32_t> samples) override {
    network_.run(*plan_, io_.inputs(), io_.output_addresses(slot));
    io_.set_shapes(slot, plan_->outputs, plan_->batch, static_cast<int64_t>(samples.size()));
  }

  Network network_;
  const Network::Plan* plan_ = nullptr;
};

// The evaluator, one operator after the other: the FP32 reference, and the way for networks whose shapes depend on data.
class PlainSession : public NativeSession {
 public:
  PlainSession(const Model& model, const LoadOptions& options) : NativeSession(model, options), graph_(model.graph()) {
    results_.resize(static_cast<size_t>(options.slots));
  }

  std::vector<LayerTiming> layer_timings() override {
    io_.gather(0, std::array<uint32_t, 1>{0}, 1);
    std::vector<LayerTiming> timings;
    Nanoseconds before = now();
    std::map<ValueId, const Node*> maker;
    for (const auto& node : graph_.nodes) maker.emplace(node.outputs.at(0), &node);
    evaluate(graph_, io_.input_tensors(1), [&](ValueId id, const Tensor&) {
      const auto it = maker.find(id);
      const Nanoseconds after = now();
      if (it != maker.end()) timings.push_back({it->second->name, it->second->op, after - before});
      before = after;
    });
    return timings;
  }

 private:
  void prepare(int slot, std::span<const uint32_t> samples) override {
    if (samples.empty()) throw Error(ErrorKind::refused, "native: no sample was enqueued");
    io_.gather(slot, samples, static_cast<int64_t>(samples.size()));
  }
  void compute(int slot, std::span<const uint32_t> samples) override {
    auto& results = results_[static_cast<size_t>(slot)];
    results = evaluate(graph_, io_.input_tensors(static_cast<int64_t>(samples.size())));
    io_.set_tensors(slot, results);
  }

  const Graph& graph_;
  std::vector<std::vector<Tensor>> results_;
};

}  // namespace

std::unique_ptr<Session> make_native_session(const Model& model, const LoadOptions& options) {
  const bool plain = option(options, "path", {"fast", "plain"}) == "plain";
  const bool pin = option(options, "pin", {"on", "off"}) == "on";
  const int64_t part = count_option(options, "part");
  if (options.batch_sizes.empty() || options.slots < 1 || options.threads < 1)
    throw Error(ErrorKind::refused, "native: at least one batch size, slot and thread are needed");
  refuse_unknown_operators(model.graph(), plain);
  try {
    if (plain || !shapes_are_static(model.graph())) return std::make_unique<PlainSession>(model, options);
    return std::make_unique<FastSession>(model, options, NetworkOptions{options.batch_sizes, options.threads, pin, part});
  } catch (const dnnl::error& error) {
    throw Error(error.status == dnnl_out_of_memory ? ErrorKind::out_of_memory : ErrorKind::internal,
                fmt::format("native: oneDNN says {} while {} is loaded", error.what(), model.name()));
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::out_of_memory, fmt::format("native: no memory left while {} is loaded", model.name()));
  }
}

}  // namespace deepgap
