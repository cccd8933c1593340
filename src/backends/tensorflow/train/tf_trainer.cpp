#include "backends/tensorflow/train/tf_trainer.h"

#include "backends/common/train_ports.h"
#include "backends/tensorflow/tf_failure.h"
#include "backends/tensorflow/tf_program.h"
#include "backends/tensorflow/tf_run_metadata.h"
#include "model/graph_tools.h"

#include <fmt/format.h>

#include <string_view>

namespace deepgap {
namespace {

// The kind of operation that the library has no gradient of, in its words "No gradient defined for op: KIND. Please see ..."; empty: the
// message says something else.
std::string without_gradient(const std::string& message) {
  constexpr std::string_view words = "No gradient defined for op: ";
  const size_t at = message.find(words);
  if (at == std::string::npos) return {};
  const size_t begin = at + words.size();
  return message.substr(begin, message.find_first_of(". ", begin) - begin);
}

}  // namespace

TfTrainer::TfTrainer(const Model& model, const TfSettings& settings, const TrainSettings& train)
    : model_(model),
      graph_(ending_with_scores(model.graph(), train.loss)),
      train_(train),
      tf_graph_(tf().new_graph()),
      scope_(tf_graph_.get()),
      variables_(graph_, scope_),
      optimizer_(train, scope_) {
  if (trainable_constants(graph_).empty())
    throw Error(ErrorKind::refused, fmt::format("tensorflow: {} has no weights that training could change", model.name()));
  set_tf_environment(settings);
  session_.open(tf_graph_.get(), settings);
}

void TfTrainer::prepare(int64_t batch) {
  if (steps_.contains(batch)) return;
  try {
    steps_.emplace(batch, made_for(batch));
    reset();
    session_.run(steps_.at(batch), tf_zeros(train_ports("tensorflow", model_.graph(), train_), batch));
    reset();
  } catch (const TfFailure& failure) {
    const std::string kind = without_gradient(failure.message);
    if (kind.empty()) throw tf_error(failure, "does not load the model for training", scope_, graph_);
    throw Error(ErrorKind::refused,
                fmt::format("tensorflow: the library's C interface has no gradient of {} (node '{}'), so {} does not train", kind,
                            scope_.first_node_with(kind), model_.name()));
  }
}

TfSession::Fetches TfTrainer::made_for(int64_t batch) {
  TfSession::Fetches step = make_tf_part(graph_, batch, scope_, variables_);
  for (const TfOutput one : variables_.take_replacements()) step.targets.push_back(one.operation);
  scope_.enter(fmt::format("batch{}", batch), "deepgap.loss");
  const Port target = train_ports("tensorflow", model_.graph(), train_).back();
  step.inputs.push_back(scope_.make("Placeholder").type("dtype", tf_type(target.type)).shape("shape", *target.shape(batch)).out());
  const TfOutput loss = loss_of(step.outputs.front(), step.inputs.back(), batch);
  step.outputs = {scope_.reshape(loss, {1})};
  add_updates(loss, step);
  return step;
}

// The mean over the batch.
TfOutput TfTrainer::loss_of(TfOutput scores, TfOutput target, int64_t batch) {
  if (train_.loss == Loss::mse) {
    const TfOutput flat = scope_.reshape(scores, {-1}), wanted = scope_.reshape(target, {-1});
    return scope_.reduce("Mean", scope_.binary("SquaredDifference", flat, wanted), {0}, false);
  }
  const Graph bound = bind_symbols(graph_, {{batch_symbol, batch}});
  const int64_t classes = element_count(known_shape(bound, bound.outputs.front())) / batch;
  const TfOutput chosen =
      scope_.make("OneHot").in(target).in(scope_.index(classes)).in(scope_.number(TfType::f32, 1)).in(scope_.number(TfType::f32, 0)).out();
  const TfOutput losses = scope_.binary("SoftmaxCrossEntropyWithLogits", scope_.reshape(scores, {batch, classes}), chosen);
  return scope_.reduce("Mean", losses, {0}, false);
}

void TfTrainer::add_updates(TfOutput loss, TfSession::Fetches& step) {
  std::vector<std::string> names;
  std::vector<TfOutput> weights;
  for (const auto& [name, variable] : variables_.made()) {
    if (!variable.is_weight) continue;
    names.push_back(name);
    weights.push_back(variable.read);
  }
  std::vector<TfOutput> gradients(weights.size());
  TfStatus status;
  tf().add_gradients(tf_graph_.get(), &loss, 1, weights.data(), static_cast<int>(weights.size()), nullptr, status.get(), gradients.data());
  status.check();
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!gradients[i]) continue;  // the loss does not depend on it
    for (const TfOutput one : optimizer_.update(names[i], variables_.made().at(names[i]), gradients[i]))
      step.targets.push_back(one.operation);
  }
  for (const TfOutput one : optimizer_.end_of_step()) step.targets.push_back(one.operation);
}

std::vector<TfTensor> TfTrainer::run(int64_t batch, std::span<const TfTensor> inputs) {
  try {
    return session_.run(steps_.at(batch), inputs);
  } catch (const TfFailure& failure) {
    throw tf_error(failure, "training the model", scope_, graph_);
  }
}

std::vector<LayerTiming> TfTrainer::layer_timings(int64_t batch, std::span<const TfTensor> inputs) {
  const TfBufferHandle metadata(tf().new_buffer());
  session_.run(steps_.at(batch), inputs, tf_trace_options(), metadata.get());
  return tf_layer_timings(*metadata, scope_);
}

void TfTrainer::reset() {
  variables_.reset(session_);
  optimizer_.reset(session_);
}

std::map<std::string, Tensor> TfTrainer::trained_weights() { return variables_.copies(session_); }

MemoryKinds TfTrainer::memory_kinds() const {
  MemoryKinds kinds{{"optimizer_state", optimizer_.state_bytes()}};
  for (const auto& [name, variable] : variables_.made()) {
    const auto bytes = static_cast<int64_t>(variable.at_load->bytes());
    kinds["weights"] += bytes;
    if (variable.is_weight) kinds["gradients"] += bytes;
  }
  return kinds;
}

}  // namespace deepgap
