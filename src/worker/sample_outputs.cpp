#include "worker/sample_outputs.h"

#include "base/text.h"
#include "dataset/open_dataset.h"
#include "dataset/tensors_dataset.h"
#include "model/integer_values.h"
#include "model/zoo/zoo.h"
#include "record/record_json.h"
#include "worker/memory_limit.h"
#include "worker/model_request.h"
#include "worker/quantized_model.h"
#include "worker/run_graph.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

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
  wanted.integer_values = integer_values(model.graph());
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
  if (request.precision != "int8" || has_quantization(model->summary())) return model;
  const CalibrationSamples samples = calibration_samples(request.model, *model, request.quantize, request.dataset);
  auto quantized = find_quantized(request.cache_dir, quantized_key(*model, samples, request.quantize), model->name()).model;
  if (quantized == nullptr) throw Error(ErrorKind::internal, fmt::format("the INT8 form of {} is not in the cache", model->name()));
  return quantized;
}

}  // namespace

nlohmann::json outputs_request_to_json(const OutputsRequest& request) {
  return {{"model", model_request_to_json(request.model)},
          {"backend", request.backend},
          {"device", device_name(request.device)},
          {"precision", request.precision},
          {"precision_of_file", request.precision_of_file},
          {"dataset", request.dataset},
          {"samples", request.samples},
          {"threads", request.threads},
          {"cache_dir", request.cache_dir},
          {"options", request.options},
          {"quantize", quantize_options_of(request.quantize)}};
}

OutputsRequest outputs_request_from_json(const nlohmann::json& json) {
  OutputsRequest request;
  request.model = model_request_from_json(json.at("model"));
  json.at("backend").get_to(request.backend);
  request.device = device_from(json.at("device").get<std::string>()).value();
  json.at("precision").get_to(request.precision);
  json.at("precision_of_file").get_to(request.precision_of_file);
  json.at("dataset").get_to(request.dataset);
  json.at("samples").get_to(request.samples);
  json.at("threads").get_to(request.threads);
  json.at("cache_dir").get_to(request.cache_dir);
  json.at("options").get_to(request.options);
  request.quantize = quantize_settings(json.at("quantize").get<std::map<std::string, std::string>>(), "--quantize ");
  request.model.cache_dir = request.cache_dir;
  return request;
}

EngineChoice engine_of(const OutputsRequest& request) {
  return {request.backend, request.device, request.precision, request.threads, request.cache_dir, request.options};
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

OutputsMade compute_outputs(const OutputsRequest& request, const OutputsReceiver& receive) {
  if (request.device.kind == "cpu") limit_memory();
  const CheckedInputs checked = open_checked(request);
  const auto named = [&](size_t position, std::span<const TensorView> outputs) {
    receive(checked.dataset->sample_name(checked.samples[position]), outputs);
  };
  const std::string judged_as = judged_precision(request.precision, checked.model->summary());
  if (request.backend == reference_backend) return {run_reference(*checked.model, request.threads, checked.inputs, named), judged_as};
  EngineChoice engine = engine_of(request);
  if (request.precision_of_file && has_quantization(checked.model->summary())) engine.precision = "int8";
  return {run_on_engine(engine, *checked.engine_model, checked.inputs, named), judged_as};
}

}  // namespace deepgap
