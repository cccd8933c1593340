#include "backends/tensorflow/tf_network.h"

#include "backends/tensorflow/tf_program.h"
#include "backends/tensorflow/tf_saved_model.h"
#include "backends/tensorflow/train/tf_trainer.h"

#include <cstring>
#include <utility>

namespace deepgap {

TfSession::~TfSession() {
  if (session_ == nullptr) return;
  TfStatus status;  // what closing says has nobody to hear it
  tf().close_session(session_, status.get());
  tf().delete_session(session_, status.get());
}

TfSessionOptionsHandle tf_session_options(const TfSettings& settings) {
  TfSessionOptionsHandle options(tf().new_session_options());
  const std::string config = tf_config(settings);
  TfStatus status;
  tf().set_config(options.get(), config.data(), config.size(), status.get());
  status.check();
  return options;
}

void TfSession::open(TfGraphObject* graph, const TfSettings& settings) {
  const TfSessionOptionsHandle options = tf_session_options(settings);
  TfStatus status;
  session_ = tf().new_session(graph, options.get(), status.get());
  status.check();
}

std::vector<TfTensor> TfSession::run(const Fetches& fetches, std::span<const TfTensor> inputs, const std::string& run_options,
                                     TfBuffer* metadata) const {
  std::vector<TfTensorObject*> given, results(fetches.outputs.size(), nullptr);
  for (const TfTensor& tensor : inputs) given.push_back(tensor.get());
  const TfBuffer options{run_options.data(), run_options.size(), nullptr};
  TfStatus status;
  tf().session_run(session_, run_options.empty() ? nullptr : &options, fetches.inputs.data(), given.data(), static_cast<int>(given.size()),
                   fetches.outputs.data(), results.data(), static_cast<int>(results.size()), fetches.targets.data(),
                   static_cast<int>(fetches.targets.size()), metadata, status.get());
  std::vector<TfTensor> tensors;
  for (TfTensorObject* result : results) tensors.emplace_back(result);
  status.check();
  return tensors;
}

std::vector<TfTensor> tf_zeros(const std::vector<Port>& inputs, int64_t batch) {
  std::vector<TfTensor> tensors;
  for (const Port& port : inputs) {
    Tensor zeros = make_tensor(port.type, *port.shape(batch));
    std::memset(writable<std::byte>(zeros).data(), 0, zeros.bytes());
    tensors.push_back(tf_shared(zeros));
  }
  return tensors;
}

std::unique_ptr<TfNetwork> make_tf_network(const Model& model, const EngineRequest& request, const TfSettings& settings) {
  if (request.task == Task::train) return std::make_unique<TfTrainer>(model, settings, request.train);
  if (!settings.package.empty() || is_saved_model(model.summary())) return open_saved_model(model.graph(), settings);
  return std::make_unique<TfProgram>(model.graph(), settings);
}

}  // namespace deepgap
