#include "backends/tensorflow/tf_session.h"

#include "backends/common/failure.h"
#include "backends/common/serial_session.h"
#include "backends/common/train_ports.h"
#include "backends/tensorflow/tf_failure.h"
#include "backends/tensorflow/tf_network.h"

#include <fmt/format.h>

#include <new>

namespace deepgap {
namespace {

struct Outputs {
  std::vector<TfTensor> tensors;
  std::vector<Shape> shapes;
  std::vector<TensorView> views;
};

class TfSessionOfNetwork final : public SerialSession {
 public:
  TfSessionOfNetwork(const Model& model, const LoadOptions& options, const TfSettings& settings)
      : SerialSession("tensorflow", model, options,
                      options.task == Task::train ? train_ports("tensorflow", model.graph(), options.train)
                                                  : ports(model.graph(), model.graph().inputs)),
        model_(model),
        network_(make_tf_network(model, options, settings)),
        outputs_(static_cast<size_t>(options.slots)) {
    for (const int64_t batch : options.batch_sizes) network_->prepare(batch);
    start([] {});
  }
  ~TfSessionOfNetwork() override { stop(); }

  std::span<const TensorView> outputs(int slot) const override { return outputs_.at(static_cast<size_t>(slot)).views; }

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
  std::vector<TfTensor> gathered(Query& query, int64_t batch) const {
    std::vector<TfTensor> tensors;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Shape shape = *inputs_[i].shape(batch);
      const std::byte* data =
          staging_.adjacent_or_gathered(i, query.samples, batch, query.inputs[i].data(), bytes_of(inputs_[i].type, shape));
      tensors.push_back(tf_view(inputs_[i].type, shape, data));
    }
    return tensors;
  }

  static void show(Outputs& outputs) {
    outputs.shapes.resize(outputs.tensors.size());
    outputs.views.resize(outputs.tensors.size());
    for (size_t i = 0; i < outputs.tensors.size(); ++i) {
      const auto* tensor = outputs.tensors[i].get();
      outputs.shapes[i] = shape_of(tensor);
      outputs.views[i] = {type_of_tf(tf().tensor_type(tensor)), outputs.shapes[i], static_cast<const std::byte*>(tf().tensor_data(tensor))};
    }
  }

  size_t compute(size_t slot, Query& query, std::span<Mark> marks) override {
    const auto batch = static_cast<int64_t>(query.samples.size());
    const std::vector<TfTensor> inputs = gathered(query, batch);
    network_->prepare(batch);  // a smaller batch than any that was loaded for is made when it first comes
    marks[0] = {MarkId::compute_begin, 0, clock_.now()};
    outputs_[slot].tensors = network_->run(batch, inputs);
    marks[1] = {MarkId::compute_end, 0, clock_.now()};
    show(outputs_[slot]);
    marks[2] = {MarkId::returned, 0, clock_.now()};
    return 3;
  }
  Error error_of(const std::exception& failure) const override {
    if (dynamic_cast<const std::bad_alloc*>(&failure) == nullptr) return error_from(failure);
    return {ErrorKind::out_of_memory, "out of memory: tensorflow running the model"};
  }

  const Model& model_;
  std::unique_ptr<TfNetwork> network_;
  std::vector<Outputs> outputs_;  // by slot
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
