#include "model/model_source.h"

#include "base/file.h"
#include "base/file_kind.h"
#include "base/folder_kind.h"
#include "base/messages.h"
#include "base/text.h"
#include "base/words.h"
#include "model/content_check.h"
#include "model/control_flow.h"
#include "model/decoder/decoder.h"
#include "model/decoder/gguf_decoder.h"
#include "model/decoder/onnx_decoder.h"
#include "model/graph_tools.h"
#include "model/model_of.h"
#include "model/onnx_reader.h"
#include "model/onnx_test_set.h"
#include "model/onnx_writer.h"
#include "model/saved_model.h"
#include "model/suggested_sizes.h"
#include "model/weights/safetensors.h"
#include "model/weights/seeded.h"
#include "model/zoo/zoo.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

class LoadedModel : public Model {
 public:
  LoadedModel(std::string name, std::string file, Graph graph, DomainVersions domains = {})
      : name_(std::move(name)), file_(std::move(file)), graph_(std::move(graph)), domains_(std::move(domains)) {
    summary_ = summarize(graph_);
    summary_.name = name_;
  }
  const std::string& name() const override { return name_; }
  const Graph& graph() const override { return graph_; }
  const GraphSummary& summary() const override { return summary_; }
  const std::string& file() const override { return file_; }
  std::vector<int64_t> node_macs() const override { return deepgap::node_macs(graph_); }
  std::span<const std::byte> onnx() const override {
    std::call_once(once_, [this] { onnx_ = write_onnx(graph_, {}, domains_); });
    return std::as_bytes(std::span(onnx_));
  }

 private:
  std::string name_, file_;
  Graph graph_;
  DomainVersions domains_;
  GraphSummary summary_;
  mutable std::once_flag once_;
  mutable std::string onnx_;
};

// Builds the Graph without weights, and with the sizes the request gives.
Graph zoo_graph(const ModelRequest& request) {
  ZooOptions options;
  const auto model = find_zoo_model(request.name, options);
  if (model == nullptr) {
    if (std::error_code error; fs::is_directory(request.name, error))
      throw Error(ErrorKind::usage, printable(fmt::format("'{}' {}", request.name, folder_kind(request.name))));
    if (const std::string what = other_framework(request.name); !what.empty())
      throw Error(ErrorKind::usage, fmt::format("'{}' is neither a network of the zoo nor an ONNX file: {}", request.name, what));
    const std::string base = request.name.substr(0, request.name.find(':'));
    throw Error(ErrorKind::usage, unknown_name("model", base, zoo_names()));
  }
  if (request.task == Task::train && model->trained_dropout() > 0)
    options.try_emplace("dropout", fmt::format("{}", model->trained_dropout()));
  return model->build(options);
}

// Sizes of open inputs, as the flags give them and then as the tensors of a test set have them.
Graph sized(Graph graph, const ModelRequest& request) {
  if (!request.shapes.empty()) graph = bind_shapes(graph, request.shapes);
  return request.test_set.empty() ? std::move(graph) : bind_test_set(graph, request.test_set);
}

// Errors in a file's content begin with its path.
template <typename Work>
void naming(const std::string& path, Work work) {
  try {
    work();
  } catch (const Error& error) {
    throw Error(error.kind(), printable(fmt::format("{}: {}", path, error.what())));
  }
}

// Reads ONNX by any name; anything else is often a file of another framework.
Graph onnx_graph(const std::string& path) {
  try {
    return read_onnx(path);
  } catch (const OtherFileKind&) {
    throw;  // the message says what it is
  } catch (const Error& error) {
    const std::string what = other_framework(path);
    std::error_code ignored;
    if (error.kind() != ErrorKind::input || what.empty() || !fs::is_regular_file(path, ignored)) throw;
    throw Error(ErrorKind::input, fmt::format("{}; if it is not an ONNX file, {}", error.what(), what));
  }
}

bool is_gguf(const std::string& name) { return name.ends_with(".gguf") || is_gguf_file(name); }

Graph file_graph(const ModelRequest& request) {
  if (request.weights != "onnx" && request.weights != "seeded")
    throw Error(ErrorKind::usage, fmt::format("weights '{}': {} file has its own; leave --weights out", request.weights,
                                              is_gguf(request.name) ? "a GGUF" : "an ONNX"));
  if (const auto saved = saved_model_named(request.name)) return sized(saved_model_graph(*saved), request);
  if (is_gguf(request.name)) return read_gguf_decoder(request.name);
  Graph graph = onnx_graph(request.name);
  naming(request.name, [&] {
    check_scaling(graph);
    check_constants(graph);
    if (request.task == Task::generate) graph = onnx_decoder_graph(std::move(graph), request.name);
  });
  if (request.task == Task::generate) return graph;
  graph = sized(std::move(graph), request);
  naming(request.name, [&] { inline_control_flow(graph); });
  return graph;
}

std::string weights_path(const ModelRequest& request) {
  ZooOptions options;
  const auto sets = find_zoo_model(request.name, options)->weight_sets();
  if (const auto found = sets.find(request.weights); found != sets.end()) {
    std::string path = (fs::path(request.data_dir.empty() ? default_data_dir() : request.data_dir) / found->second).string();
    if (!fs::exists(path))
      throw Error(ErrorKind::input, fmt::format("weights '{}' of {} are not at {}: ./quickstart or the bundle's data archive brings them",
                                                request.weights, request.name, path));
    return path;
  }
  if (request.weights.find('/') != std::string::npos || request.weights.find(".safetensors") != std::string::npos ||
      fs::exists(request.weights))
    return request.weights;
  std::vector<std::string> known{"seeded"};
  for (const auto& [name, file] : sets) known.push_back(name);
  throw Error(ErrorKind::usage, invalid_choice(request.weights, "weights", known, "a .safetensors file"));
}

std::string describe(DataType type, const Shape& shape) { return fmt::format("{} [{}]", name_of(type), fmt::join(shape, ",")); }

// The file has to hold exactly what the network lacks.
void fill_from_file(Graph& graph, const std::string& path) {
  std::map<std::string, Tensor> tensors = read_safetensors(path);
  for (auto& [id, constant] : graph.constants) {
    if (constant.data != nullptr) continue;
    const std::string& name = graph.values[id].name;
    const auto found = tensors.find(name);
    if (found == tensors.end()) throw Error(ErrorKind::input, fmt::format("{}: it has no '{}' for {}", path, name, graph.name));
    if (found->second.type != constant.type || found->second.shape != constant.shape)
      throw Error(ErrorKind::input,
                  fmt::format("{}: '{}' is {}, {} needs {}", path, name, describe(found->second.type, found->second.shape), graph.name,
                              describe(constant.type, constant.shape)));
    constant.data = found->second.data;
    tensors.erase(found);
  }
  for (const auto& [name, tensor] : tensors) {
    // PyTorch's counter of training steps says nothing about inference.
    if (name.size() >= 20 && name.ends_with(".num_batches_tracked")) continue;
    throw Error(ErrorKind::input, fmt::format("{}: {} has no place for '{}'", path, graph.name, name));
  }
}

void fill_weights(Graph& graph, const ModelRequest& request) {
  if (request.weights == "seeded") {
    seed_weights(graph, request.seed, request.cache_dir);
  } else {
    const std::string path = weights_path(request);
    fill_from_file(graph, path);
    naming(path, [&] { check_constants(graph); });
  }
}

// A network that takes prompts: their sizes, and those within it, follow from each prompt.
bool takes_prompts(const Graph& graph) { return is_decoder(graph) || onnx_decoder_body(graph) != nullptr; }

bool is_open(const Dim& dim) { return !dim.known() && dim.symbol != batch_symbol; }

std::vector<TensorInfo> inputs_of(const Graph& graph) {
  std::vector<TensorInfo> inputs;
  for (const ValueId id : graph.inputs) {
    const Value& value = graph.values[static_cast<size_t>(id)];
    inputs.push_back({value.name, value.type, value.dims});
  }
  return inputs;
}

std::string open_sizes_of(const std::vector<TensorInfo>& inputs, const std::string& name, const std::string& flag) {
  for (const TensorInfo& input : inputs) {
    if (!input.dims) return fmt::format("{}: input '{}' has no shape, not even a rank; give its sizes, as {} does", name, input.name, flag);
    const auto open = std::find_if(input.dims->begin(), input.dims->end(), is_open);
    if (open == input.dims->end()) continue;
    return fmt::format("{}: input '{}', dimension {} ('{}') is open; give the sizes, as {} does", name, input.name,
                       open - input.dims->begin(), open->symbol, flag);
  }
  return "";
}

std::string open_sizes_of(const Graph& graph, const std::string& name) {
  const std::vector<TensorInfo> inputs = inputs_of(graph);
  const bool none = std::none_of(inputs.begin(), inputs.end(), [](const TensorInfo& input) {
    return !input.dims || std::any_of(input.dims->begin(), input.dims->end(), is_open);
  });
  return none ? "" : open_sizes_of(inputs, name, suggested_shape_flag(graph));
}

}  // namespace

void require_sizes(const Graph& graph, const std::string& name) {
  if (const std::string open = open_sizes_of(graph, name); !open.empty()) throw Error(ErrorKind::usage, open);
}

bool is_model_file(const std::string& name) {
  std::error_code error;
  return name.find('/') != std::string::npos || name.ends_with(".onnx") || name.ends_with(".gguf") || fs::is_regular_file(name, error) ||
         saved_model_named(name).has_value();
}

std::string default_data_dir() {
  if (const char* given = std::getenv("DEEPGAP_DATA"); given != nullptr && *given != '\0') return given;
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  // A bundle or an installation; build/bin of the tree; a build folder below build/.
  for (const char* place : {"../share/deepgap/data", "../../data", "../../../data"}) {
    const fs::path candidate = (folder / place).lexically_normal();
    if (fs::is_directory(candidate, error)) return candidate.string();
  }
  return (folder / "../../data").lexically_normal().string();
}

ModelRequest sized_by_dataset(ModelRequest request, const std::string& dataset) {
  const std::vector<std::string> sets = onnx_test_sets(dataset);
  if (!sets.empty()) request.test_set = sets.front();
  return request;
}

std::shared_ptr<const Model> open_model(const ModelRequest& request) {
  const bool is_file = is_model_file(request.name);
  Graph graph = is_file ? file_graph(request) : zoo_graph(request);
  // Weights come before sizes: seeded ones belong to the network as the zoo builds it.
  if (!is_file) {
    fill_weights(graph, request);
    graph = sized(std::move(graph), request);
  }
  require_sizes(graph, request.name);
  DomainVersions domains;
  if (is_file && !takes_prompts(graph) && !saved_model_named(request.name)) domains = read_onnx_domains(request.name);
  std::shared_ptr<const Model> model;
  naming(request.name,
         [&] { model = std::make_shared<const LoadedModel>(request.name, is_file ? request.name : "", std::move(graph), domains); });
  return model;
}

std::shared_ptr<const Model> model_of(const std::string& name, Graph graph) {
  return std::make_shared<const LoadedModel>(name, "", std::move(graph));
}

namespace {

Graph without_costly_weights(const ModelRequest& request) {
  return is_model_file(request.name) ? file_graph(request) : sized(zoo_graph(request), request);
}

// Copies the Graph without the contents of constants that shape inference does not look into.
std::shared_ptr<const Graph> shapes_of(const Graph& graph) {
  constexpr int64_t most_elements = 4096;
  auto shapes = std::make_shared<Graph>(graph);
  for (auto& [id, constant] : shapes->constants)
    if (element_count(constant.shape) > most_elements) constant.data.reset();
  return shapes;
}

}  // namespace

NetworkWork network_work_of(const ModelRequest& request) {
  const Graph graph = without_costly_weights(request);
  require_sizes(graph, request.name);
  return network_work(graph);
}

StepWork step_work_of(ModelRequest request, const TrainSettings& settings) {
  request.task = Task::train;
  const Graph graph = without_costly_weights(request);
  require_sizes(graph, request.name);
  return step_work(graph, settings);
}

ModelOutline outline_model(const ModelRequest& request) {
  const Graph graph = without_costly_weights(request);
  ModelOutline outline;
  naming(request.name, [&] { outline = {summarize(graph), steering_inputs(graph), open_sizes_of(graph, request.name), nullptr}; });
  outline.summary.name = request.name;
  if (is_model_file(request.name) && !takes_prompts(graph)) outline.shapes = shapes_of(graph);
  return outline;
}

ModelOutline outline_of(const Model& model) {
  return {model.summary(), steering_inputs(model.graph()), "",
          model.file().empty() || takes_prompts(model.graph()) ? nullptr : shapes_of(model.graph())};
}

std::string why_not_batch(const ModelOutline& outline, int64_t batch) {
  if (outline.shapes == nullptr) return "";
  try {
    bind_symbols(*outline.shapes, {{batch_symbol, batch}});
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

GraphSummary summarize_model(const ModelRequest& request) { return outline_model(request).summary; }

}  // namespace deepgap
