#include "worker/remote_model.h"

#include "base/text.h"
#include "base/words.h"
#include "dataset/open_dataset.h"
#include "model/graph_tools.h"
#include "model/model_of.h"
#include "model/model_source.h"
#include "record/record_json.h"
#include "record/task_traits.h"
#include "worker/group.h"
#include "worker/memory_limit.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace deepgap {
namespace {

std::string port_text(const Value& value) {
  std::vector<std::string> sizes;
  if (value.dims) {
    for (const Dim& dim : *value.dims) sizes.push_back(dim.known() ? std::to_string(dim.size) : "?");
  }
  return fmt::format("{} {} [{}]", value.name, name_of(value.type), join(sizes, ","));
}

std::string ports_text(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<std::string> texts;
  for (const ValueId id : ids) texts.push_back(port_text(graph.values[static_cast<size_t>(id)]));
  return join(texts, ", ");
}

// An open size may be any of the other's.
bool fits(const Value& wanted, const Value& served) {
  if (wanted.type != served.type) return false;
  if (!wanted.dims || !served.dims) return true;
  if (wanted.dims->size() != served.dims->size()) return false;
  for (size_t i = 0; i < wanted.dims->size(); ++i) {
    const Dim &a = (*wanted.dims)[i], &b = (*served.dims)[i];
    if (a.known() && b.known() && a.size != b.size) return false;
  }
  return true;
}

// The served ones in the reference's order.
std::vector<ValueId> in_order_of(const Graph& reference, const std::vector<ValueId>& wanted, const Graph& served,
                                 const std::vector<ValueId>& there, const std::string& what, const std::string& file) {
  std::vector<ValueId> ordered;
  for (const ValueId id : wanted) {
    const Value& value = reference.values[static_cast<size_t>(id)];
    const auto found = std::find_if(there.begin(), there.end(), [&](ValueId other) {
      const Value& candidate = served.values[static_cast<size_t>(other)];
      return candidate.name == value.name && fits(value, candidate);
    });
    if (found != there.end()) ordered.push_back(*found);
  }
  if (ordered.size() == wanted.size() && ordered.size() == there.size()) return ordered;
  throw Error(ErrorKind::usage,
              fmt::format("the reference {} has the {}s {}, the server's {} has {}: they must have the same names, types and sizes", file,
                          what, ports_text(reference, wanted), printable(served.name), printable(ports_text(served, there))));
}

// The server fixes the sizes in its metadata: it does not take a request of other sizes.
void require_sizes_of_server(const Graph& graph, const std::string& model, const std::map<std::string, std::vector<int64_t>>& shapes) {
  for (const ValueId id : graph.inputs) {
    const Value& served = graph.values[static_cast<size_t>(id)];
    const auto found = shapes.find(served.name);
    if (found == shapes.end() || !served.dims) continue;
    Value asked{served.name, served.type, Dims()};
    for (const int64_t size : found->second) asked.dims->push_back(size < 0 ? Dim{1, batch_symbol} : Dim{size, ""});
    if (fits(asked, served)) continue;
    throw Error(ErrorKind::usage, fmt::format("--shape has the input {}, the server's {} has {}: only sizes that it leaves open (?) can be "
                                              "given",
                                              printable(port_text(asked)), printable(model), printable(port_text(served))));
  }
}

// A server's metadata decide how much is allocated, filled and sent here: what is larger than any usual input somebody has to want.
constexpr double most_unasked_bytes = 256e6;

void require_wanted(const Graph& graph, const std::string& model, const std::map<std::string, std::vector<int64_t>>& shapes) {
  std::vector<TensorInfo> unasked;
  for (const ValueId id : graph.inputs) {
    const Value& value = graph.values[static_cast<size_t>(id)];
    if (!shapes.contains(value.name)) unasked.push_back({value.name, value.type, value.dims});
  }
  const double bytes = sample_bytes(unasked);
  if (bytes <= most_unasked_bytes) return;
  const auto size_of = [](const TensorInfo& input) { return sample_bytes({input}); };
  const auto largest =
      std::max_element(unasked.begin(), unasked.end(), [&](const auto& a, const auto& b) { return size_of(a) < size_of(b); });
  std::vector<std::string> sizes;
  for (const Dim& dim : *largest->dims) sizes.push_back(dim.symbol == batch_symbol ? "N" : std::to_string(dim.size));
  throw Error(ErrorKind::usage, printable(fmt::format("the server's {} declares inputs of {} a sample; if you want to send that much, give "
                                                      "their sizes: --shape {}:{}",
                                                      model, format_bytes(bytes), largest->name, join(sizes, "x"))));
}

}  // namespace

void require_place(const Point& point, const PointOptions& options, ModelForm form) {
  const auto& devices = point.placement.devices;
  const auto server = std::find_if(devices.begin(), devices.end(), [](const DeviceId& device) { return is_remote(device); });
  const bool all = std::all_of(devices.begin(), devices.end(), [](const DeviceId& device) { return is_remote(device); });
  if (form == ModelForm::remote && !all)
    throw Error(ErrorKind::usage, fmt::format("backend {} measures servers: give --device http://host:port{}", point.backend,
                                              task_traits(point.task).tokens ? "" : " or grpc://host:port"));
  if (form != ModelForm::remote && server != devices.end())
    throw Error(ErrorKind::usage,
                fmt::format("device {} is a server: give --backend kserve, or openai for one that generates", device_name(*server)));
  if (form != ModelForm::remote && !options.reference.empty())
    throw Error(ErrorKind::usage, "reference is for servers: an engine that runs here is compared with its own model");
}

ModelRequest reference_request(const Point& point, const PointOptions& options, const std::string& cache_dir) {
  if (!is_model_file(options.reference))
    throw Error(ErrorKind::usage, fmt::format("reference '{}' is not an ONNX file", printable(options.reference)));
  return sized_by_dataset({options.reference, "onnx", options.seed, options.shapes, cache_dir, default_data_dir()}, point.dataset);
}

std::shared_ptr<const Model> served_model(Backend& backend, const Point& point, const PointOptions& options, const Model* reference) {
  EngineRequest request = engine_request(point, options);
  request.placement.devices.resize(1);
  Graph graph = backend.remote_model(point.model, request);
  if (task_traits(point.task).tokens) return model_of(point.model, std::move(graph));  // prompts are of any length
  require_sizes_of_server(graph, point.model, options.shapes);
  if (!options.shapes.empty()) graph = bind_shapes(graph, options.shapes);
  if (reference != nullptr) {
    const Graph& wanted = reference->graph();
    graph.inputs = in_order_of(wanted, wanted.inputs, graph, graph.inputs, "input", options.reference);
    graph.outputs = in_order_of(wanted, wanted.outputs, graph, graph.outputs, "output", options.reference);
    std::map<std::string, std::vector<int64_t>> sizes;  // what the server leaves open is as the reference has it
    for (const ValueId id : wanted.inputs) {
      const Value& value = wanted.values[static_cast<size_t>(id)];
      if (!value.dims) continue;
      std::vector<int64_t>& dims = sizes[value.name];
      for (const Dim& dim : *value.dims) dims.push_back(dim.known() ? dim.size : -1);
    }
    graph = bind_shapes(graph, sizes);
  }
  require_sizes(graph, point.model);
  if (reference == nullptr) require_wanted(graph, point.model, options.shapes);
  return model_of(point.model, std::move(graph));
}

}  // namespace deepgap
