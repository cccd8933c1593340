#include "backends/tensorflow/tf_saved_model.h"

#include "backends/common/port.h"
#include "backends/tensorflow/tf_failure.h"
#include "backends/tensorflow/tf_run_metadata.h"
#include "backends/tensorflow/tf_values.h"
#include "base/text.h"
#include "model/graph_tools.h"
#include "model/saved_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <set>

namespace deepgap {
namespace {

template <typename Value>
std::string keys_of(const std::map<std::string, Value>& values) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : values) keys.push_back(key);
  return join(keys, ", ");
}

class SavedModel final : public TfNetwork {
 public:
  SavedModel(const Graph& graph, const TfSettings& settings)
      : path_(settings.package), tf_graph_(tf().new_graph()), inputs_(ports(graph, graph.inputs)), outputs_(ports(graph, graph.outputs)) {
    set_tf_environment(settings);
    const TfBufferHandle meta(tf().new_buffer());
    const TfSessionOptionsHandle options = tf_session_options(settings);
    const char* const tag = "serve";
    TfStatus status;
    TfSessionObject* session =
        tf().load_session_from_saved_model(options.get(), nullptr, path_.c_str(), &tag, 1, tf_graph_.get(), meta.get(), status.get());
    status.check();
    session_.emplace(session);
    find_ports(read_signatures({static_cast<const std::byte*>(meta->data), meta->length}), settings.signature);
  }

  // Runs once on zeros.
  void prepare(int64_t batch) override {
    if (!prepared_.insert(batch).second) return;
    const std::vector<TfTensor> results = run(batch, tf_zeros(inputs_, batch));
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const auto wanted = outputs_[i].shape(batch);
      const Shape made = shape_of(results[i].get());
      if (wanted && made != *wanted)
        refuse(fmt::format("gives output '{}' as [{}], the model's is [{}]", outputs_[i].name, fmt::join(made, ", "),
                           fmt::join(*wanted, ", ")));
    }
  }

  std::vector<TfTensor> run(int64_t /*batch*/, std::span<const TfTensor> inputs) override { return run_with(inputs, {}, nullptr); }

  std::vector<LayerTiming> layer_timings(int64_t /*batch*/, std::span<const TfTensor> inputs) override {
    const TfBufferHandle metadata(tf().new_buffer());
    run_with(inputs, tf_trace_options(), metadata.get());
    return tf_layer_timings(*metadata, TfScope(tf_graph_.get()));
  }

  // Its operations have names of their own.
  PrecisionShares precision_shares(const Model& /*model*/, int64_t /*batch*/, std::span<const TfTensor> /*inputs*/) override { return {}; }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorKind::refused, fmt::format("tensorflow: SavedModel '{}' {}", path_, what));
  }

  std::vector<TfTensor> run_with(std::span<const TfTensor> inputs, const std::string& options, TfBuffer* metadata) {
    try {
      std::vector<TfTensor> given;
      for (size_t i = 0; i < inputs.size(); ++i) given.push_back(in_layout(i, inputs[i].get()));
      return session_->run(fetches_, given, options, metadata);
    } catch (const TfFailure& failure) {
      throw tf_error(failure, fmt::format("running SavedModel '{}'", path_));
    }
  }

  TfTensor in_layout(size_t input, TfTensorObject* tensor) const {
    const Shape shape = shape_of(tensor);
    const auto* data = static_cast<const std::byte*>(tf().tensor_data(tensor));
    if (!is_last_[input]) return tf_view(inputs_[input].type, shape, data);
    const Tensor seen{inputs_[input].type, shape, std::shared_ptr<const std::byte>(std::shared_ptr<void>(), data)};
    return tf_shared(permuted(seen, channels_last_order(shape.size())));
  }

  void find_ports(const std::map<std::string, Signature>& signatures, const std::string& name) {
    const auto signature = signatures.find(name);
    if (signature == signatures.end())
      refuse(signatures.empty()
                 ? "has no signatures"
                 : fmt::format("has no signature '{}', only {}: choose with tensorflow.signature", name, keys_of(signatures)));
    for (const Port& input : inputs_) {
      const SignaturePort& port = port_named(signature->second.inputs, inputs_.size(), input, "input");
      fetches_.inputs.push_back(output_of(port.tensor));
      is_last_.push_back(wants_channels_last(port, input));
    }
    for (const Port& output : outputs_)
      fetches_.outputs.push_back(output_of(port_named(signature->second.outputs, outputs_.size(), output, "output").tensor));
  }

  const SignaturePort& port_named(const std::map<std::string, SignaturePort>& named, size_t wanted, const Port& port,
                                  const char* what) const {
    auto found = named.find(port.name);
    if (found == named.end() && named.size() == 1 && wanted == 1) found = named.begin();
    if (found == named.end()) refuse(fmt::format("has no {} '{}' in its signature, only {}", what, port.name, keys_of(named)));
    if (found->second.type != static_cast<int64_t>(tf_type(port.type)))
      refuse(fmt::format("has {} '{}' in another type than the model's {}", what, found->first, name_of(port.type)));
    return found->second;
  }

  // The sizes that both know are the same in this order of the Graph's dimensions.
  static bool fits(const Shape& shape, const Dims& dims, const std::vector<int64_t>& order) {
    for (size_t i = 0; i < shape.size(); ++i) {
      const Dim& dim = dims[static_cast<size_t>(order[i])];
      if (shape[i] >= 0 && dim.known() && shape[i] != dim.size) return false;
    }
    return true;
  }

  bool wants_channels_last(const SignaturePort& port, const Port& input) const {
    if (!port.shape || !input.dims) return false;
    std::vector<int64_t> same(input.dims->size());
    for (size_t i = 0; i < same.size(); ++i) same[i] = static_cast<int64_t>(i);
    if (port.shape->size() == same.size() && fits(*port.shape, *input.dims, same)) return false;
    if (port.shape->size() == same.size() && same.size() >= 3 && fits(*port.shape, *input.dims, channels_last_order(same.size())))
      return true;
    refuse(fmt::format("takes [{}] for the model's input '{}', which has another shape", fmt::join(*port.shape, ", "), input.name));
  }

  TfOutput output_of(const std::string& tensor) const {
    const size_t colon = tensor.rfind(':');
    TfOperation* operation = tf().graph_operation_by_name(tf_graph_.get(), tensor.substr(0, colon).c_str());
    if (operation == nullptr) refuse(fmt::format("names a tensor '{}' that its graph does not have", tensor));
    return {operation, colon == std::string::npos ? 0 : std::atoi(tensor.c_str() + colon + 1)};
  }

  std::string path_;
  TfGraph tf_graph_;
  std::vector<Port> inputs_, outputs_;
  std::optional<TfSession> session_;  // goes before the graph
  TfSession::Fetches fetches_;
  std::vector<bool> is_last_;  // beside the inputs
  std::set<int64_t> prepared_;
};

}  // namespace

bool is_saved_model(const GraphSummary& graph) {
  return graph.operators.size() == 1 && graph.operators[0].op == saved_model_op && graph.operators[0].domain == saved_model_domain;
}

std::unique_ptr<TfNetwork> open_saved_model(const Graph& graph, TfSettings settings) {
  if (const Node& node = graph.nodes.front(); node.op == saved_model_op && node.domain == saved_model_domain) {
    settings.package = attribute_string(node, "folder", "");
    settings.signature = attribute_string(node, "signature", "");
  }
  try {
    return std::make_unique<SavedModel>(graph, settings);
  } catch (const TfFailure& failure) {
    throw tf_error(failure, fmt::format("does not open SavedModel '{}'", settings.package));
  }
}

}  // namespace deepgap
