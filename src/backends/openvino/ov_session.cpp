#include "backends/openvino/ov_session.h"

#include "backends/common/slot_buffer.h"
#include "backends/common/staging.h"
#include "backends/openvino/ov_failure.h"
#include "backends/openvino/ov_network.h"
#include "backends/openvino/ov_precisions.h"
#include "backends/openvino/ov_profile.h"

#include <fmt/format.h>
#include <openvino/runtime/exception.hpp>
#include <openvino/runtime/infer_request.hpp>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

namespace deepgap {
namespace {

// The library takes constant data for inputs by a pointer that is not; it does not write there.
ov::Tensor tensor_over(const std::byte* data, DataType type, const Shape& shape) {
  return {ov_element(type), ov::Shape(shape.begin(), shape.end()), const_cast<std::byte*>(data)};
}

struct Slot {
  std::vector<SlotBuffer> inputs, outputs;
  std::vector<ov::InferRequest> requests;  // beside the networks
  std::vector<bool> started;               // beside the requests: has run before
  // These stand beside the requests: where each input is read, and the sources of the query that is prepared.
  std::vector<std::vector<const std::byte*>> bound;
  std::vector<const std::byte*> sources;
  // The query in flight, and what is shown of the last one.
  uint64_t tag = 0;
  size_t network = 0;
  int64_t samples = 0;
  std::array<Mark, 3> marks{};
  std::vector<ov::Tensor> made;  // outputs that the library made
  std::vector<Shape> shapes;
  std::vector<TensorView> views;
};

class OvSession final : public Session {
 public:
  OvSession(const Model& model, const LoadOptions& options, const OvSettings& settings)
      : model_(model),
        inputs_(ports(model.graph(), model.graph().inputs)),
        outputs_(ports(model.graph(), model.graph().outputs)),
        profiled_(settings.profiled),
        clock_(*options.clock),
        completion_(options.completion),
        staging_("openvino", inputs_),
        networks_(compile_networks(model, options, settings)),
        slots_(static_cast<size_t>(options.slots)) {
    for (Slot& slot : slots_) allocate(slot);
  }
  ~OvSession() override { OvSession::cancel(); }

  int slots() const override { return static_cast<int>(slots_.size()); }
  void stage(std::span<const std::vector<TensorView>> inputs) override { staging_.stage(inputs); }
  std::span<const TensorView> outputs(int slot) const override { return slots_.at(static_cast<size_t>(slot)).views; }

  void enqueue(int index, std::span<const uint32_t> samples, uint64_t tag) override {
    Slot& slot = slots_.at(static_cast<size_t>(index));
    slot.tag = tag;
    {
      const std::lock_guard lock(mutex_);
      ++pending_;
    }
    try {
      slot.marks[0] = {MarkId::h2d_begin, 0, clock_.now()};
      prepare(slot, samples);
      ov::InferRequest& request = bound_request(slot);
      slot.marks[1] = {MarkId::compute_begin, 0, clock_.now()};
      request.start_async();  // from here on the slot is the callback's
    } catch (...) {
      finish(slot, std::current_exception());
    }
  }

  void drain() override {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return pending_ == 0; });
  }

  void cancel() override {
    for (Slot& slot : slots_) {
      for (ov::InferRequest& request : slot.requests) request.cancel();  // nothing to one that does not run
    }
    drain();
  }

  // At the largest batch, of the first sample.
  std::vector<LayerTiming> layer_timings() override {
    if (!profiled_) return {};
    const std::vector<uint32_t> samples(static_cast<size_t>(networks_.back().batch), 0);
    Slot& slot = slots_.front();
    prepare(slot, samples);
    ov::InferRequest& request = bound_request(slot);
    request.infer();
    return ov_layer_timings(request, model_.graph());
  }

  PrecisionShares precision_shares() override { return ov_precision_shares(networks_.back().compiled, model_); }

 private:
  void allocate(Slot& slot) {
    for (size_t i = 0; i < inputs_.size(); ++i) slot.inputs.emplace_back(bytes_of(inputs_[i].type, networks_.back().inputs[i]));
    for (size_t i = 0; i < outputs_.size(); ++i) {
      size_t most = 0;
      for (const OvNetwork& network : networks_) {
        if (network.outputs[i]) most = std::max(most, bytes_of(outputs_[i].type, *network.outputs[i]));
      }
      slot.outputs.emplace_back(most);
    }
    slot.made.resize(outputs_.size());
    slot.shapes.resize(outputs_.size());
    slot.views.resize(outputs_.size());
    for (SlotBuffer& buffer : slot.inputs) slot.sources.push_back(buffer.data());
    for (OvNetwork& network : networks_) slot.requests.push_back(make_request(slot, network));
    slot.started.resize(networks_.size());
    slot.bound.assign(networks_.size(), slot.sources);
  }

  ov::InferRequest make_request(Slot& slot, OvNetwork& network) {
    ov::InferRequest request = network.compiled.create_infer_request();
    for (size_t i = 0; i < inputs_.size(); ++i) bind_input(request, network, i, slot.inputs[i].data());
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (network.outputs[i]) request.set_output_tensor(i, tensor_over(slot.outputs[i].data(), outputs_[i].type, *network.outputs[i]));
    }
    request.set_callback([this, &slot](const std::exception_ptr& failure) { finish(slot, failure); });
    return request;
  }

  void bind_input(ov::InferRequest& request, const OvNetwork& network, size_t input, const std::byte* data) const {
    if (!network.parameters[input]) return;
    request.set_input_tensor(*network.parameters[input], tensor_over(data, inputs_[input].type, network.inputs[input]));
  }

  // The network for so many samples: of that batch, else the next larger one, whose outputs are then cut.
  size_t network_for(int64_t samples) const {
    size_t found = 0;
    while (found < networks_.size() && networks_[found].batch < samples) ++found;
    if (samples < 1 || found == networks_.size()) {
      throw Error(ErrorKind::input, fmt::format("openvino: {} samples, loaded for at most {}", samples, networks_.back().batch));
    }
    if (networks_[found].batch == samples) return found;
    for (const Port& port : outputs_) {
      if (port.leads_with_batch()) continue;
      throw Error(ErrorKind::input, fmt::format("openvino: {} samples, loaded for {}, and output '{}' cannot be cut to fewer", samples,
                                                networks_[found].batch, port.name));
    }
    return found;
  }

  void prepare(Slot& slot, std::span<const uint32_t> samples) {
    slot.samples = static_cast<int64_t>(samples.size());
    slot.network = network_for(slot.samples);
    const OvNetwork& network = networks_[slot.network];
    for (size_t i = 0; i < inputs_.size(); ++i) {
      slot.sources[i] =
          staging_.adjacent_or_gathered(i, samples, network.batch, slot.inputs[i].data(), bytes_of(inputs_[i].type, network.inputs[i]));
    }
  }

  // The slot's request, once it can be started again, on the inputs that were prepared.
  ov::InferRequest& bound_request(Slot& slot) {
    ov::InferRequest& request = ready_request(slot);
    const OvNetwork& network = networks_[slot.network];
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const std::byte*& bound = slot.bound[slot.network][i];
      if (bound == slot.sources[i]) continue;
      bind_input(request, network, i, slot.sources[i]);
      bound = slot.sources[i];
    }
    return request;
  }

  // While a callback runs, the library keeps it away from its request, and a run that ended meanwhile would have none. The slot is free
  // once our callback has delivered, so the microseconds until it has returned may have to be waited for.
  static ov::InferRequest& ready_request(Slot& slot) {
    ov::InferRequest& request = slot.requests[slot.network];
    if (slot.started[slot.network]) {
      try {
        request.wait();
      } catch (const std::exception&) {  // how the last run ended was delivered then
      }
    }
    slot.started[slot.network] = true;
    return request;
  }

  // Delivers the slot's query. On a thread of the library, or in enqueue() for one that did not start. Another thread may use the slot
  // again as soon as the completion was called: nothing of it is touched from there on.
  void finish(Slot& slot, const std::exception_ptr& failure) {
    slot.marks[2] = {MarkId::compute_end, 0, clock_.now()};
    const std::array<Mark, 3> marks = slot.marks;
    Done done{.tag = slot.tag};
    std::optional<Error> error;
    try {
      if (failure) std::rethrow_exception(failure);
      show(slot);
      done.marks = marks;
    } catch (const ov::Cancelled&) {
      done.status = Status::cancelled;
    } catch (const Error& own) {
      error = own;
    } catch (const std::exception& other) {
      error = ov_run_error(other.what());
    }
    if (error) done = {done.tag, Status::failed, {}, &*error};
    completion_(std::span(&done, 1));
    const std::lock_guard lock(mutex_);
    --pending_;
    idle_.notify_all();
  }

  void show(Slot& slot) {
    const OvNetwork& network = networks_[slot.network];
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const std::byte* data = slot.outputs[i].data();
      if (network.outputs[i]) {
        slot.shapes[i] = *network.outputs[i];
      } else {
        slot.made[i] = slot.requests[slot.network].get_output_tensor(i);
        const ov::Shape sizes = slot.made[i].get_shape();
        slot.shapes[i].assign(sizes.begin(), sizes.end());
        data = static_cast<const std::byte*>(std::as_const(slot.made[i]).data());
      }
      if (slot.samples < network.batch) slot.shapes[i][0] = slot.shapes[i][0] / network.batch * slot.samples;
      slot.views[i] = {outputs_[i].type, slot.shapes[i], data};
    }
  }

  const Model& model_;
  std::vector<Port> inputs_, outputs_;
  bool profiled_;
  Clock& clock_;
  Completion completion_;
  Staging staging_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable idle_;
  int pending_ = 0;
  std::vector<OvNetwork> networks_;  // smallest batch first
  std::vector<Slot> slots_;          // last: its requests end their callbacks before anything else goes
};

}  // namespace

std::unique_ptr<Session> make_ov_session(const Model& model, const LoadOptions& options, const OvSettings& settings) {
  try {
    return std::make_unique<OvSession>(model, options, settings);
  } catch (const ov::Exception& failure) {
    throw ov_load_error(failure.what(), model.graph());
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::out_of_memory, fmt::format("openvino: no memory for the buffers of {}", model.name()));
  }
}

}  // namespace deepgap
