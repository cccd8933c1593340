#include "worker/sample_outputs.h"

#include "base/text.h"
#include "dataset/open_dataset.h"
#include "dataset/tensors_dataset.h"
#include "model/decoder/decoder.h"
#include "model/integer_values.h"
#include "model/onnx_test_set.h"
#include "model/random_numbers.h"
#include "model/zoo/zoo.h"
#include "record/record_json.h"
#include "worker/memory_limit.h"
#include "worker/quantized_model.h"
#include "worker/request_json.h"
#include "worker/run_graph.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
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
  wanted.numbers = with_given(steering_inputs(model.graph()), request.model.numbers);
  wanted.size = static_cast<size_t>(request.samples);
  wanted.data_dir = request.model.data_dir.empty() ? default_data_dir() : request.model.data_dir;
  return open_dataset(wanted);
}

// A file's input may be honest in every number and yet larger than the machine: said before the system ends us, or another process.
void require_memory(const Model& model, size_t samples) {
  double bytes = 0;
  const std::vector<Shape> shapes = sample_shapes(model.summary().inputs);
  for (size_t i = 0; i < shapes.size(); ++i)
    bytes += static_cast<double>(element_count(shapes[i])) * static_cast<double>(byte_size(model.summary().inputs[i].type));
  bytes *= static_cast<double>(samples);
  const double machine = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (bytes > machine / 4)  // the engine and its outputs need as much again, and the reference too
    throw Error(ErrorKind::input, fmt::format("{} samples of {} take {}, this machine has {}: ask for fewer with --samples", samples,
                                              model.summary().name, format_bytes(bytes), format_bytes(machine)));
}

std::shared_ptr<const Model> engine_model_for(const OutputsRequest& request, const std::shared_ptr<const Model>& model) {
  if (request.precision != Precision::int8 || has_quantization(model->summary())) return model;
  const CalibrationSamples samples = calibration_samples(request.model, *model, request.quantize, request.dataset);
  auto quantized = find_quantized(request.cache_dir, quantized_key(*model, samples, request.quantize), model->name()).model;
  if (quantized == nullptr) throw Error(ErrorKind::internal, fmt::format("the INT8 form of {} is not in the cache", model->name()));
  return quantized;
}

}  // namespace

nlohmann::json outputs_request_to_json(const OutputsRequest& request) { return json_of(request); }
OutputsRequest outputs_request_from_json(const nlohmann::json& json) {
  auto request = json_to<OutputsRequest>(json, "request for outputs");
  request.model.cache_dir = request.cache_dir;
  return request;
}

EngineChoice engine_of(const OutputsRequest& request) {
  return {request.backend, request.device, request.precision, request.threads, request.cache_dir, request.options, Task::infer};
}

CheckedInputs open_checked(const OutputsRequest& request) {
  CheckedInputs checked;
  checked.model = open_model(sized_by_dataset(request.model, request.dataset));
  checked.engine_model = request.backend == reference_backend ? checked.model : engine_model_for(request, checked.model);
  checked.dataset = dataset_for(request, *checked.model);
  checked.samples.resize(std::min<size_t>(static_cast<size_t>(request.samples), checked.dataset->size()));
  std::iota(checked.samples.begin(), checked.samples.end(), uint32_t{0});
  require_memory(*checked.model, checked.samples.size());
  checked.dataset->load(checked.samples);
  for (const uint32_t index : checked.samples) checked.inputs.push_back(checked.dataset->sample(index));
  return checked;
}

namespace {

OutputsMade run_queries(const OutputsRequest& request, const Model& model, const Model& engine_model, const std::vector<std::string>& names,
                        std::span<const std::vector<TensorView>> queries, const OutputsReceiver& receive) {
  OutputsMade made{.judged_as = judged_precision(request.precision, model), .random = random_node(model.graph())};
  for (const TensorInfo& output : model.summary().outputs) made.outputs.push_back(output.name);
  const auto named = [&](size_t position, std::span<const TensorView> outputs) { receive(names[position], outputs); };
  if (request.backend == reference_backend) {
    const ReferenceRun reference = run_reference(model, request.threads, queries, request.checked, named);
    made.version = reference.engine;
    made.overflow = reference.overflow;
    return made;
  }
  EngineChoice engine = engine_of(request);
  if (request.precision_of_file && has_quantization(model.summary())) engine.precision = Precision::int8;
  made.version = run_on_engine(engine, engine_model, queries, named);
  return made;
}

bool same_shapes(const std::vector<TestTensor>& a, const std::vector<TestTensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const TestTensor& x, const TestTensor& y) { return x.tensor.shape == y.tensor.shape; });
}

// The leading sets whose tensors have the shapes of the first one's: one load of the engine serves them. Returns their number.
size_t run_first_sets(const OutputsRequest& request, std::span<const std::string> sets, const OutputsReceiver& receive, OutputsMade& made) {
  OutputsRequest sized = request;
  sized.model.test_set = sets.front();
  const auto model = open_model(sized.model);
  const auto engine_model = request.backend == reference_backend ? model : engine_model_for(sized, model);
  std::vector<std::string> inputs, names;
  for (const TensorInfo& input : model->summary().inputs) inputs.push_back(input.name);
  std::vector<std::vector<TestTensor>> tensors;
  std::vector<std::vector<TensorView>> queries;
  for (const std::string& set : sets) {
    std::vector<TestTensor> of_set = test_inputs(set, inputs);
    if (!tensors.empty() && !same_shapes(tensors.front(), of_set)) break;
    tensors.push_back(std::move(of_set));
    names.push_back(std::filesystem::path(set).filename().string());
    queries.emplace_back();
    for (const TestTensor& given : tensors.back()) queries.back().push_back(given.tensor.view());
  }
  const std::string overflow = made.overflow;  // the overflow of earlier sets
  made = run_queries(request, *model, *engine_model, names, queries, receive);
  if (!overflow.empty()) made.overflow = overflow;
  return queries.size();
}

}  // namespace

OutputsMade compute_outputs(const OutputsRequest& request, const OutputsReceiver& receive) {
  if (request.device.kind == "cpu") limit_memory();
  if (std::vector<std::string> sets = onnx_test_sets(request.dataset); !sets.empty()) {
    sets.resize(std::min(sets.size(), static_cast<size_t>(request.samples)));
    OutputsMade made;
    for (size_t done = 0; done < sets.size();) done += run_first_sets(request, std::span(sets).subspan(done), receive, made);
    return made;
  }
  const CheckedInputs checked = open_checked(request);
  if (is_decoder(checked.model->graph()))
    throw Error(ErrorKind::usage,
                fmt::format("{} generates tokens: add --text FILE, a text on which its perplexity is measured", request.model.name));
  const Batching batching = batching_of(checked.model->summary().inputs);
  const Queries queries(batching, checked.inputs);
  std::vector<std::string> names;
  for (size_t i = 0; i < queries.inputs().size(); ++i)
    names.push_back(checked.dataset->sample_name(checked.samples[i * static_cast<size_t>(batching.samples)]));
  return run_queries(request, *checked.model, *checked.engine_model, names, queries.inputs(), receive);
}

}  // namespace deepgap
