#include "backends/native/native_session.h"

#include "backends/common/failure.h"
#include "backends/common/query_queue.h"
#include "backends/native/batch_io.h"
#include "backends/native/query_runner.h"
#include "engine/cpu/isa.h"
#include "engine/cpu/network.h"
#include "engine/cpu/operators.h"
#include "model/eval/evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <thread>

namespace deepgap {
namespace {

void refuse_unknown_operators(const Graph& graph, bool plain) {
  const auto evaluated = evaluated_operators();
  for (const auto& node : graph.nodes) {
    const std::string op = node.domain.empty() ? node.op : node.domain + "." + node.op;
    if (!runs_natively(node.op, node.domain))
      throw Error(ErrorKind::refused, fmt::format("native does not run operator {} (node {})", op, node.name));
    if (plain && !evaluates_bodies(node) && !std::binary_search(evaluated.begin(), evaluated.end(), node.op))
      throw Error(ErrorKind::refused, fmt::format("native with path=plain does not run operator {} (node {})", op, node.name));
  }
}

bool is_bf16(Precision precision) { return precision == Precision::bf16 || precision == Precision::mixed; }

// Call it before the first primitive of the process.
void settle_isa(const LoadOptions& options, const NativeOptions& native) {
  limit_isa(native.isa);
  if (is_bf16(options.precision) && !computes_bf16())
    throw Error(ErrorKind::refused, fmt::format("native: precision {} needs AVX-512, this process computes with {}",
                                                name_of(options.precision), isa_description()));
}

QueryRunners make_runners(const Model& model, const LoadOptions& options, const NativeOptions& native, BatchIo& io) {
  const std::string open = native.plain ? "" : shape_that_depends_on_data(model.graph());
  const bool evaluated = native.plain || !open.empty();
  if (evaluated && is_bf16(options.precision))
    throw Error(ErrorKind::refused,
                fmt::format("native: precision {} is not there with {}, which is computed in fp32", name_of(options.precision),
                            native.plain ? "path=plain" : fmt::format("a shape that depends on data ({})", open)));
  if (evaluated) return make_evaluator_runners(model, native.streams, io);
  return make_network_runners(model, options, native, io);
}

// With one stream queries run on the calling thread, inside enqueue(): nothing is handed over. With several, each stream is a thread.
class NativeSession : public Session {
 public:
  NativeSession(const Model& model, const LoadOptions& options, const NativeOptions& native)
      : completion_(options.completion),
        clock_(options.clock),
        queries_(static_cast<size_t>(std::max(options.slots, native.streams))),
        io_(model.graph(), options.batch_sizes, NativeSession::slots()),
        runners_(make_runners(model, options, native, io_)),
        queue_(NativeSession::slots()) {
    const int64_t largest = *std::max_element(options.batch_sizes.begin(), options.batch_sizes.end());
    for (Query& query : queries_) query.samples.reserve(static_cast<size_t>(largest));
    if (runners_.each.size() == 1) return;
    for (auto& runner : runners_.each) streams_.emplace_back([this, &runner = *runner] { serve(runner); });
  }

  ~NativeSession() override {
    NativeSession::cancel();
    queue_.close();
  }

  int slots() const override { return static_cast<int>(queries_.size()); }
  void stage(std::span<const std::vector<TensorView>> inputs) override { io_.stage(inputs); }
  std::span<const TensorView> outputs(int slot) const override { return io_.outputs(slot); }
  void drain() override { queue_.drain(); }
  void cancel() override {
    queue_.withdraw([this](int slot) { deliver({.tag = queries_[static_cast<size_t>(slot)].tag, .status = Status::cancelled}); });
    NativeSession::drain();
  }

  void enqueue(int slot, std::span<const uint32_t> samples, uint64_t tag) override {
    Query& query = queries_[static_cast<size_t>(slot)];
    query.tag = tag;
    query.samples.assign(samples.begin(), samples.end());
    query.enqueued = now();
    if (streams_.empty()) {
      run(*runners_.each[0], slot);
    } else {
      queue_.push(slot);
    }
  }

  MemoryUse memory() const override {
    if (!runners_.bytes) return {};
    const auto bytes = static_cast<int64_t>(*runners_.bytes + io_.reserved_bytes());
    return {bytes, bytes, bytes};  // all of it is taken at load
  }

  PrecisionShares precision_shares() override { return runners_.shares; }

  std::vector<LayerTiming> layer_timings() override {
    drain();
    return runners_.each[0]->layer_timings([this] { return now(); });
  }

 private:
  struct Query {
    uint64_t tag = 0;
    Nanoseconds enqueued = 0;
    std::vector<uint32_t> samples;
  };

  // A stream's life.
  void serve(QueryRunner& runner) {
    const TeamScope team = runner.team();
    while (const auto slot = queue_.take()) {
      run(runner, *slot);
      queue_.finished();
    }
  }

  // The slot may be in use again as soon as its query is delivered: nothing of it is touched from there on.
  void run(QueryRunner& runner, int slot) {
    const Query& query = queries_[static_cast<size_t>(slot)];
    std::array<Mark, 5> marks{Mark{MarkId::enqueued, 0, query.enqueued}};
    const auto mark = [&](size_t position, MarkId id) { marks[position] = {id, 0, now()}; };
    Done done{.tag = query.tag};
    std::optional<Error> error;
    try {
      mark(1, MarkId::h2d_begin);
      runner.prepare(slot, query.samples);
      mark(2, MarkId::compute_begin);
      runner.compute(slot, query.samples);
      mark(3, MarkId::compute_end);
      mark(4, MarkId::returned);
      done.marks = marks;
    } catch (const std::exception& failure) {
      error = error_from(failure);
      done = {query.tag, Status::failed, std::span(marks).first(1), &*error};
    }
    deliver(done);
  }

  void deliver(const Done& done) const {
    if (completion_) completion_(std::span(&done, 1));
  }

  Nanoseconds now() const {
    if (clock_ != nullptr) return clock_->now();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  Completion completion_;
  Clock* clock_;
  std::vector<Query> queries_;  // by slot
  BatchIo io_;
  QueryRunners runners_;
  QueryQueue queue_;
  std::vector<std::jthread> streams_;  // last: they use all of the above
};

}  // namespace

std::unique_ptr<Session> make_native_session(const Model& model, const LoadOptions& options, const NativeOptions& native) {
  refuse_unknown_operators(model.graph(), native.plain);
  settle_isa(options, native);
  try {
    return std::make_unique<NativeSession>(model, options, native);
  } catch (const dnnl::error& error) {
    throw Error(error.status == dnnl_out_of_memory ? ErrorKind::out_of_memory : ErrorKind::refused,
                fmt::format("native: oneDNN says {} while {} is loaded", error.what(), model.name()));
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::out_of_memory, fmt::format("native: no memory left while {} is loaded", model.name()));
  }
}

}  // namespace deepgap
