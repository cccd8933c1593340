#include "backends/null/null_session.h"

#include "base/console.h"
#include "base/text.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <optional>
#include <utility>

namespace deepgap {
namespace {

struct Slot {
  bool busy = false;
  uint64_t generation = 0;  // distinguishes work that is still scheduled for an earlier, cancelled query
  uint64_t tag = 0;
  size_t server = 0;
  Nanoseconds begin = 0, end = 0;  // when its service begins and ends; never: it hangs
  Status status = Status::ok;
  std::optional<Error> error;  // set for Status::failed
  int64_t batch = 0;           // that the shapes are of
  std::vector<Shape> shapes;   // shapes of this run's outputs
  std::vector<TensorView> views;
  TokenCounts counts;       // set in task generate only
  std::vector<Mark> marks;  // likewise, of its deliveries
};

// Where an output's size is not known it is 1: nothing reads the zeros.
Shape shape_of(const Value& value, int64_t batch) {
  if (!value.dims) return {batch};
  Shape shape;
  for (const Dim& dim : *value.dims) {
    const int64_t symbol = dim.symbol == batch_symbol ? batch : 1;
    shape.push_back(dim.known() ? dim.size : std::max<int64_t>(dim.size, 1) * symbol);
  }
  return shape;
}

// All that scheduled work touches. The Clock may outlive the Session, so the work holds it too.
class Service : public std::enable_shared_from_this<Service> {
 public:
  Service(const NullScript& script, const Model& model, const LoadOptions& options)
      : script_(script),
        latencies_(script_),
        clock_(*options.clock),
        completion_(options.completion),
        max_batch_(static_cast<size_t>(*std::max_element(options.batch_sizes.begin(), options.batch_sizes.end()))),
        slots_(static_cast<size_t>(options.slots)),
        free_at_(static_cast<size_t>(script.concurrency), 0),
        loaded_at_(clock_.now()),
        generates_(options.task == Task::generate) {
    make_outputs(model.graph());
  }

  int slots() const { return static_cast<int>(slots_.size()); }
  void stage(std::span<const std::vector<TensorView>> inputs) {
    staged_ = inputs.size();
    prompts_.clear();
    if (generates_)
      for (const auto& sample : inputs) prompts_.push_back(prompt_of(sample));
  }
  std::span<const TensorView> outputs(int slot) const { return slots_.at(static_cast<size_t>(slot)).views; }
  const NullScript& script() const { return script_; }
  void close() { closed_ = true; }

  void enqueue(size_t index, std::span<const uint32_t> samples, uint64_t tag) {
    check_use(index, samples);
    Slot& slot = slots_[index];
    const uint64_t query = next_query_++;
    end_process_if_told(query);
    if (script_.device_lost_at.contains(query)) {
      throw Error(ErrorKind::device_lost, fmt::format("null backend: device lost at query {} as scripted", query));
    }
    const Nanoseconds now = clock_.now();
    if (script_.virtual_time) require_passing(now);
    slot.tag = tag;
    slot.busy = true;
    slot.error = failure(query);
    slot.status = slot.error ? Status::failed : Status::ok;
    shape_outputs(slot, static_cast<int64_t>(samples.size()));
    const Nanoseconds latency = script_.hang_at.contains(query) ? never : latencies_.next(query, samples.size(), now - loaded_at_);
    const Nanoseconds more = generates_ ? plan_tokens(slot, prompts_[samples.front()]) : 0;
    serve(slot, now, latency == never ? never : latency + more);
    for (Mark& mark : slot.marks) mark.ns += slot.begin + latency;
    ++in_flight_;
    if (slot.end <= now) return deliver(slot);
    if (slot.end == never) return;
    clock_.schedule(slot.end, [self = shared_from_this(), index, generation = slot.generation] {
      Slot& done = self->slots_[index];
      if (!self->closed_ && done.busy && done.generation == generation) self->deliver(done);
    });
  }

  void drain() {
    while (in_flight_ > 0) {
      Nanoseconds next = never;
      for (const Slot& slot : slots_) {
        if (slot.busy) next = std::min(next, slot.end);
      }
      clock_.wait_until(next);
    }
  }

  void cancel() {
    const Nanoseconds now = clock_.now();
    std::fill(free_at_.begin(), free_at_.end(), 0);
    for (Slot& slot : slots_) {
      if (slot.busy && slot.begin <= now) free_at_[slot.server] = slot.end;
    }
    for (Slot& slot : slots_) {
      if (!slot.busy || slot.begin <= now) continue;
      slot.status = Status::cancelled;
      deliver(slot);
    }
    drain();
  }

 private:
  void make_outputs(const Graph& graph) {
    size_t largest = 1;
    for (const ValueId id : graph.outputs) {
      const Value& value = graph.values[static_cast<size_t>(id)];
      outputs_.push_back(value);
      const Shape shape = shape_of(value, static_cast<int64_t>(max_batch_));
      largest = std::max(largest, TensorView{value.type, shape, nullptr}.bytes());
    }
    zeros_.resize(largest);
    for (Slot& slot : slots_) {
      slot.shapes.resize(outputs_.size());
      slot.views.resize(outputs_.size());
      shape_outputs(slot, static_cast<int64_t>(max_batch_));
    }
  }

  void shape_outputs(Slot& slot, int64_t batch) {
    if (slot.batch == batch) return;  // nearly always: nothing to allocate
    slot.batch = batch;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      slot.shapes[i] = shape_of(outputs_[i], batch);
      slot.views[i] = {outputs_[i].type, slot.shapes[i], zeros_.data()};
    }
  }

  struct ScriptedPrompt {
    int64_t words = 0, output_limit = 0;
  };
  // A token for each word, so that the length of a made-up prompt is what was asked for.
  static ScriptedPrompt prompt_of(const std::vector<TensorView>& sample) {
    if (sample.size() != 2 || sample[1].as<int64_t>().size() != prompt_fields)
      throw Error(ErrorKind::internal, "null backend: a sample of task generate is not a prompt and its request");
    const auto text = sample[0].as<uint8_t>();
    const auto request = sample[1].as<int64_t>();
    return {std::count(text.begin(), text.end(), ' '), request[static_cast<size_t>(PromptField::output_limit)]};
  }

  // The query's deliveries, from the first one on; returns when the last comes after it.
  Nanoseconds plan_tokens(Slot& slot, const ScriptedPrompt& prompt) const {
    slot.marks.clear();
    Nanoseconds at = 0;
    for (int64_t given = 0; given < prompt.output_limit; given += script_.chunk_tokens) {
      at = given / script_.chunk_tokens * script_.token_interval;
      const auto count = static_cast<uint32_t>(std::min<int64_t>(script_.chunk_tokens, prompt.output_limit - given));
      slot.marks.push_back({given < script_.reasoning_tokens ? MarkId::reasoning_tokens : MarkId::tokens, 0, at, count});
    }
    slot.counts = {.input = prompt.words,
                   .output = std::llround(static_cast<double>(prompt.output_limit) * script_.counted_share),
                   .cached = std::min(script_.cached_tokens, prompt.words),
                   .chunks = static_cast<int64_t>(slot.marks.size()),
                   .stop = StopReason::limit};
    return at;
  }

  // A broken promise of the caller is a bug of the harness, which this backend is there to find.
  void check_use(size_t index, std::span<const uint32_t> samples) const {
    const auto bug = [](const std::string& what) { throw Error(ErrorKind::internal, "null backend: " + what); };
    if (index >= slots_.size()) bug(fmt::format("slot {} of {}", index, slots_.size()));
    if (slots_[index].busy) bug(fmt::format("slot {} is busy", index));
    if (samples.empty() || samples.size() > max_batch_) bug(fmt::format("{} samples, loaded for at most {}", samples.size(), max_batch_));
    for (const uint32_t sample : samples) {
      if (sample >= staged_) bug(fmt::format("sample {} of {} staged", sample, staged_));
    }
  }

  // Steps and a falling drift may come down to nothing in the middle of a run, which virtual time would then never see end.
  void require_passing(Nanoseconds now) {
    constexpr int64_t most = 2'000'000;  // no burst and no crowd of clients has so many at one moment
    queries_now_ = now == moment_ ? queries_now_ + 1 : 1;
    moment_ = now;
    if (queries_now_ > most) {
      throw Error(ErrorKind::refused,
                  fmt::format("null backend: {} queries took no time after {} of clock=virtual, which does not pass any "
                              "more: see to latency, steps and drift, or leave out clock=virtual",
                              most, format_duration(now)));
    }
  }

  void end_process_if_told(uint64_t query) const {
    if (script_.sigkill_at.contains(query)) ::kill(::getpid(), SIGKILL);
    if (script_.exit_at.contains(query)) ::_exit(9);
    if (script_.crash_at.contains(query)) {
      ::signal(SIGSEGV, SIG_DFL);
      ::raise(SIGSEGV);
    }
  }

  std::optional<Error> failure(uint64_t query) {
    const bool by_rate = latencies_.next_fails();
    if (!by_rate && !script_.fail_at.contains(query)) return std::nullopt;
    return Error(ErrorKind::internal, fmt::format("query {} failed as scripted", query));
  }

  void serve(Slot& slot, Nanoseconds now, Nanoseconds latency) {
    const auto server = std::min_element(free_at_.begin(), free_at_.end());
    slot.server = static_cast<size_t>(server - free_at_.begin());
    slot.begin = std::max(now, *server);
    slot.end = slot.begin == never || latency == never ? never : slot.begin + latency;
    *server = slot.end;
  }

  void deliver(Slot& slot) {
    slot.busy = false;
    ++slot.generation;
    --in_flight_;
    const std::array<Mark, 2> ends{Mark{MarkId::compute_begin, 0, slot.begin}, Mark{MarkId::compute_end, 0, slot.end}};
    std::span<const Mark> marks = ends;
    std::vector<Mark> deliveries;  // the slot may be used again by the completion
    const TokenCounts counts = slot.counts;
    if (generates_) {
      deliveries = std::exchange(slot.marks, {});
      deliveries.insert(deliveries.end(), ends.begin(), ends.end());
      marks = deliveries;
    }
    const bool served = slot.status != Status::cancelled;
    const std::optional<Error> error = slot.error;  // the slot may be used again by the completion
    Done done{.tag = slot.tag, .status = slot.status, .marks = served ? marks : std::span<const Mark>()};
    if (slot.status == Status::failed) done.error = &*error;
    if (generates_ && served) done.tokens = &counts;
    completion_(std::span(&done, 1));
  }

  const NullScript script_;
  LatencySource latencies_;
  Clock& clock_;
  Completion completion_;
  size_t max_batch_;
  std::vector<Slot> slots_;
  std::vector<Nanoseconds> free_at_;  // when each server is free
  Nanoseconds loaded_at_;
  std::vector<Value> outputs_;
  std::vector<std::byte> zeros_;  // shared by all outputs: nobody writes them
  size_t staged_ = 0;
  uint64_t next_query_ = 0;
  Nanoseconds moment_ = -1;  // time of the last query
  int64_t queries_now_ = 0;  // at that moment
  int in_flight_ = 0;
  bool closed_ = false;
  bool generates_;
  std::vector<ScriptedPrompt> prompts_;  // for task generate, as they were staged
};

class NullSession final : public Session {
 public:
  NullSession(std::shared_ptr<Service> service, std::vector<std::byte> ballast)
      : service_(std::move(service)), ballast_(std::move(ballast)) {}
  ~NullSession() override { service_->close(); }

  int slots() const override { return service_->slots(); }
  void stage(std::span<const std::vector<TensorView>> inputs) override { service_->stage(inputs); }
  void enqueue(int slot, std::span<const uint32_t> samples, uint64_t tag) override {
    service_->enqueue(static_cast<size_t>(slot), samples, tag);
  }
  std::span<const TensorView> outputs(int slot) const override { return service_->outputs(slot); }
  bool outlives_failures() const override { return service_->script().outlives_failures; }
  void drain() override { service_->drain(); }
  void cancel() override { service_->cancel(); }
  MemoryUse memory() const override {
    const auto bytes = service_->script().memory_bytes;
    return bytes ? MemoryUse{*bytes, *bytes, *bytes} : MemoryUse{};
  }

 private:
  std::shared_ptr<Service> service_;
  std::vector<std::byte> ballast_;
};

void pass_time(Clock& clock, Nanoseconds duration) {
  const Nanoseconds end = clock.now() + duration;
  while (clock.now() < end) clock.wait_until(end);
}

std::vector<std::byte> take_memory(int64_t bytes) {
  try {
    return std::vector<std::byte>(static_cast<size_t>(bytes), std::byte{1});
  } catch (const std::exception&) {  // bad_alloc, or length_error for a size no vector has
    throw Error(ErrorKind::out_of_memory, fmt::format("null backend: cannot allocate {} bytes (allocate_bytes)", bytes));
  }
}

}  // namespace

std::unique_ptr<Session> make_null_session(const NullScript& script, const Model& model, const LoadOptions& options) {
  if (!script.stderr_text.empty()) say(stderr, fmt::format("{}\n", script.stderr_text));
  if (!script.refuse.empty()) throw Error(ErrorKind::refused, "null backend: " + script.refuse);
  pass_time(*options.clock, script.load_time);
  for (const int64_t batch : options.batch_sizes) {
    if (script.oom_at_load && batch >= *script.oom_at_load) {
      throw Error(ErrorKind::out_of_memory,
                  fmt::format("null backend: batch {} does not fit (oom_at_load={})", batch, *script.oom_at_load));
    }
  }
  auto ballast = take_memory(script.allocate_bytes.value_or(0));
  return std::make_unique<NullSession>(std::make_shared<Service>(script, model, options), std::move(ballast));
}

}  // namespace deepgap
