#include "worker/sample_outputs.h"

#include "base/text.h"
#include "dataset/open_dataset.h"
#include "dataset/tensors_dataset.h"
#include "model/zoo/zoo.h"
#include "worker/node_check.h"
#include "worker/protocol.h"
#include "worker/quantized_model.h"
#include "worker/run_graph.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace deepgap {
namespace {

std::unique_ptr<Dataset> dataset_for(const OutputsRequest& request, const Model& model) {
  DatasetRequest wanted;
  wanted.name = request.dataset;
  wanted.inputs = model.summary().inputs;
  wanted.preprocessing = preprocessing_for(request.model.name);
  wanted.size = static_cast<size_t>(request.samples);
  wanted.data_dir = request.model.data_dir.empty() ? default_data_dir() : request.model.data_dir;
  return open_dataset(wanted);
}

// A file's input may be honest in every number and yet larger than the machine: said before the system ends us, or another process.
void require_memory(const Model& model, size_t samples) {
  double bytes = 0;
  for (const TensorInfo& input : model.summary().inputs)
    bytes += static_cast<double>(element_count(item_shape(input))) * static_cast<double>(byte_size(input.type));
  bytes *= static_cast<double>(samples);
  const double machine = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (bytes > machine / 4)  // the engine and its outputs need as much again, and the reference too
    throw Error(ErrorKind::input, fmt::format("{} samples of {} take {}, this machine has {}: ask for fewer with --samples", samples,
                                              model.summary().name, format_bytes(bytes), format_bytes(machine)));
}

std::shared_ptr<const Model> engine_model_for(const OutputsRequest& request, const std::shared_ptr<const Model>& model) {
  if (request.precision != "int8" || is_quantized(model->summary())) return model;
  const CalibrationSamples samples = calibration_samples(request.model, model->summary(), request.quantize, request.dataset);
  auto quantized = find_quantized(request.cache_dir, quantized_key(*model, samples, request.quantize), model->name()).model;
  if (quantized == nullptr) throw Error(ErrorKind::internal, fmt::format("the INT8 form of {} is not in the cache", model->name()));
  return quantized;
}

Frame sample_frame(const std::string& sample, std::span<const TensorView> outputs) {
  if (outputs.size() > max_blocks)
    throw Error(ErrorKind::refused, fmt::format("models of more than {} outputs cannot be checked", max_blocks));
  Frame frame;
  frame.header = {{"kind", "sample"}, {"name", sample}, {"outputs", nlohmann::json::array()}};
  for (const TensorView& output : outputs) {
    frame.header["outputs"].push_back(
        {{"type", static_cast<int>(output.type)}, {"shape", Shape(output.shape.begin(), output.shape.end())}});
    frame.blocks.emplace_back(reinterpret_cast<const char*>(output.data), output.bytes());
  }
  return frame;
}

nlohmann::json nodes_frame(const NodeChecks& checks) {
  nlohmann::json nodes = nlohmann::json::array();
  for (const NodeCheck& node : checks.nodes)
    nodes.push_back({{"name", node.name}, {"op", node.op}, {"quantized", node.quantized}, {"sqnr_db", node.sqnr_db}});
  return {{"kind", "done"}, {"version", checks.version}, {"samples", checks.samples}, {"nodes", std::move(nodes)}};
}

}  // namespace

nlohmann::json outputs_request_to_json(const OutputsRequest& request) {
  return {{"model", request.model.name},
          {"weights", request.model.weights},
          {"shapes", request.model.shapes},
          {"seed", request.model.seed},
          {"data_dir", request.model.data_dir},
          {"backend", request.backend},
          {"precision", request.precision},
          {"dataset", request.dataset},
          {"samples", request.samples},
          {"threads", request.threads},
          {"cache_dir", request.cache_dir},
          {"options", request.options},
          {"quantize", quantize_options_of(request.quantize)},
          {"nodes", request.nodes}};
}

OutputsRequest outputs_request_from_json(const nlohmann::json& json) {
  OutputsRequest request;
  json.at("model").get_to(request.model.name);
  json.at("weights").get_to(request.model.weights);
  json.at("shapes").get_to(request.model.shapes);
  json.at("seed").get_to(request.model.seed);
  json.at("data_dir").get_to(request.model.data_dir);
  json.at("backend").get_to(request.backend);
  json.at("precision").get_to(request.precision);
  json.at("dataset").get_to(request.dataset);
  json.at("samples").get_to(request.samples);
  json.at("threads").get_to(request.threads);
  json.at("cache_dir").get_to(request.cache_dir);
  json.at("options").get_to(request.options);
  request.quantize = quantize_settings(json.at("quantize").get<std::map<std::string, std::string>>(), "--quantize ");
  json.at("nodes").get_to(request.nodes);
  request.model.cache_dir = request.cache_dir;
  return request;
}

EngineChoice engine_of(const OutputsRequest& request) {
  return {request.backend, request.precision, request.threads, request.cache_dir, request.options};
}

CheckedInputs open_checked(const OutputsRequest& request) {
  CheckedInputs checked;
  checked.model = open_model(request.model);
  checked.engine_model = request.backend == reference_backend ? checked.model : engine_model_for(request, checked.model);
  checked.dataset = dataset_for(request, *checked.model);
  checked.samples.resize(std::min<size_t>(static_cast<size_t>(request.samples), checked.dataset->size()));
  std::iota(checked.samples.begin(), checked.samples.end(), uint32_t{0});
  require_memory(*checked.model, checked.samples.size());
  checked.dataset->load(checked.samples);
  for (const uint32_t index : checked.samples) checked.inputs.push_back(checked.dataset->sample(index));
  return checked;
}

std::string compute_outputs(const OutputsRequest& request, const OutputsReceiver& receive) {
  const CheckedInputs checked = open_checked(request);
  const auto named = [&](size_t position, std::span<const TensorView> outputs) {
    receive(checked.dataset->sample_name(checked.samples[position]), outputs);
  };
  if (request.backend == reference_backend) return run_on_evaluator(*checked.model, checked.inputs, named);
  return run_on_engine(engine_of(request), *checked.engine_model, checked.inputs, named);
}

int serve_outputs(int channel) {
  FrameWriter writer(channel);
  const auto request = FrameReader(channel).read();
  if (!request) return 1;
  try {
    const OutputsRequest wanted = outputs_request_from_json(request->header);
    if (wanted.nodes) {
      writer.write({nodes_frame(check_nodes(wanted)), {}});
      return 0;
    }
    const auto send = [&](const std::string& sample, std::span<const TensorView> outputs) { writer.write(sample_frame(sample, outputs)); };
    const std::string version = compute_outputs(wanted, send);
    writer.write({{{"kind", "done"}, {"version", version}}, {}});
  } catch (const Error& error) {
    writer.write({{{"kind", "error"}, {"error", static_cast<int>(error.kind())}, {"message", error.what()}}, {}});
  } catch (const std::bad_alloc&) {
    writer.write({{{"kind", "error"}, {"error", static_cast<int>(ErrorKind::out_of_memory)}, {"message", "memory does not suffice"}}, {}});
  }
  return 0;
}

}  // namespace deepgap
