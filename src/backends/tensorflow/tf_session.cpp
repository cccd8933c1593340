#include "backends/tensorflow/tf_session.h"

#include "backends/common/failure.h"
#include "backends/common/query_thread.h"
#include "backends/common/slot_buffer.h"
#include "backends/common/staging.h"
#include "backends/common/train_ports.h"
#include "backends/tensorflow/tf_failure.h"
#include "backends/tensorflow/tf_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <optional>

namespace deepgap {
namespace {

struct Slot {
  std::vector<SlotBuffer> inputs;
  std::vector<TfTensor> outputs;
  std::vector<Shape> shapes;
  std::vector<TensorView> views;
  // The query in flight.
  std::vector<uint32_t> samples;
  uint64_t tag = 0;
  Nanoseconds enqueued = 0;
};

class TfSessionOfNetwork final : public Session {
 public:
  TfSessionOfNetwork(const Model& model, const LoadOptions& options, const TfSettings& settings)
      : clock_(*options.clock),
        completion_(options.completion),
        model_(model),
        inputs_(options.task == "train" ? train_ports("tensorflow", model.graph(), options.train)
                                        : ports(model.graph(), model.graph().inputs)),
        staging_("tensorflow", inputs_),
        network_(make_tf_network(model, options, settings)),
        slots_(static_cast<size_t>(options.slots)) {
    for (const int64_t batch : options.batch_sizes) {
      largest_ = std::max(largest_, batch);
      input_shapes("tensorflow", model.name(), inputs_, batch);
      network_->prepare(batch);
    }
    for (Slot& slot : slots_)
      for (const Port& input : inputs_) slot.inputs.emplace_back(bytes_of(input.type, *input.shape(largest_)));
    thread_.emplace([] {}, [this](size_t slot) { answer(slots_[slot]); },
                    [this](size_t slot) { deliver({.tag = slots_[slot].tag, .status = Status::cancelled}); });
  }

  int slots() const override { return static_cast<int>(slots_.size()); }
  void stage(std::span<const std::vector<TensorView>> inputs) override { staging_.stage(inputs); }
  std::span<const TensorView> outputs(int slot) const override { return slots_.at(static_cast<size_t>(slot)).views; }

  void enqueue(int index, std::span<const uint32_t> samples, uint64_t tag) override {
    Slot& slot = slots_.at(static_cast<size_t>(index));
    slot.enqueued = clock_.now();
    slot.samples.assign(samples.begin(), samples.end());
    slot.tag = tag;
    thread_->enqueue(static_cast<size_t>(index));
  }
  void drain() override { thread_->drain(); }
  void cancel() override { thread_->cancel(); }

  std::vector<LayerTiming> layer_timings() override {
    drain();
    return network_->layer_timings(largest_, tf_zeros(inputs_, largest_));
  }
  PrecisionShares precision_shares() override {
    drain();
    return network_->precision_shares(model_, largest_, tf_zeros(inputs_, largest_));
  }
  void reset() override {
    drain();
    network_->reset();
  }
  std::map<std::string, Tensor> trained_weights() override {
    drain();
    return network_->trained_weights();
  }
  MemoryKinds memory_kinds() override { return network_->memory_kinds(); }

 private:
  std::vector<TfTensor> gathered(Slot& slot, int64_t batch) const {
    if (batch < 1 || batch > largest_)
      throw Error(ErrorKind::input, fmt::format("tensorflow: {} samples, loaded for at most {}", batch, largest_));
    std::vector<TfTensor> tensors;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Shape shape = *inputs_[i].shape(batch);
      const std::byte* data =
          staging_.adjacent_or_gathered(i, slot.samples, batch, slot.inputs[i].data(), bytes_of(inputs_[i].type, shape));
      tensors.push_back(tf_view(inputs_[i].type, shape, data));
    }
    return tensors;
  }

  void show(Slot& slot) const {
    slot.shapes.resize(slot.outputs.size());
    slot.views.resize(slot.outputs.size());
    for (size_t i = 0; i < slot.outputs.size(); ++i) {
      slot.shapes[i] = shape_of(slot.outputs[i].get());
      slot.views[i] = {type_of_tf(tf().tensor_type(slot.outputs[i].get())), slot.shapes[i],
                       static_cast<const std::byte*>(tf().tensor_data(slot.outputs[i].get()))};
    }
  }

  void answer(Slot& slot) {
    std::array<Mark, 5> marks{{{MarkId::enqueued, 0, slot.enqueued}, {MarkId::h2d_begin, 0, clock_.now()}}};
    Done done{.tag = slot.tag};
    std::optional<Error> error;
    try {
      const auto batch = static_cast<int64_t>(slot.samples.size());
      const std::vector<TfTensor> inputs = gathered(slot, batch);
      network_->prepare(batch);  // a smaller batch than any that was loaded for is made when it first comes
      marks[2] = {MarkId::compute_begin, 0, clock_.now()};
      slot.outputs = network_->run(batch, inputs);
      marks[3] = {MarkId::compute_end, 0, clock_.now()};
      show(slot);
      marks[4] = {MarkId::returned, 0, clock_.now()};
      done.marks = marks;
    } catch (const std::bad_alloc&) {
      error = Error(ErrorKind::out_of_memory, "out of memory: tensorflow running the model");
    } catch (const std::exception& failure) {
      error = error_from(failure);
    }
    if (error) done = {slot.tag, Status::failed, std::span(marks).first(1), &*error};
    deliver(done);
  }

  // Another thread may use the slot again as soon as the completion was called.
  void deliver(const Done& done) { completion_(std::span(&done, 1)); }

  Clock& clock_;
  Completion completion_;
  const Model& model_;
  std::vector<Port> inputs_;
  Staging staging_;
  int64_t largest_ = 0;  // batch
  std::unique_ptr<TfNetwork> network_;
  std::vector<Slot> slots_;
  std::optional<QueryThread> thread_;  // goes first
};

}  // namespace

std::unique_ptr<Session> make_tf_session(const Model& model, const LoadOptions& options, const TfSettings& settings) {
  try {
    return std::make_unique<TfSessionOfNetwork>(model, options, settings);
  } catch (const TfFailure& failure) {
    throw tf_error(failure, "does not load the model");
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::out_of_memory, fmt::format("out of memory: tensorflow loading {}", model.name()));
  }
}

}  // namespace deepgap
