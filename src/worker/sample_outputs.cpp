#include "worker/sample_outputs.h"

#include "base/clocks.h"
#include "base/text.h"
#include "dataset/open_dataset.h"
#include "dataset/tensors_dataset.h"
#include "model/eval/evaluator.h"
#include "model/zoo/zoo.h"
#include "worker/plugin.h"
#include "worker/protocol.h"

#include <deepgap/backend.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
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

std::vector<TensorView> views_of(const std::vector<Tensor>& tensors) {
  std::vector<TensorView> views;
  for (const Tensor& tensor : tensors) views.push_back(tensor.view());
  return views;
}

// The evaluator wants to own its inputs: a Tensor that borrows, for the length of one call.
Tensor borrowed(const TensorView& view) {
  return {view.type, Shape(view.shape.begin(), view.shape.end()), std::shared_ptr<const std::byte>(view.data, [](const std::byte*) {})};
}

std::string evaluate_samples(const Model& model, const Dataset& dataset, std::span<const uint32_t> samples,
                             const OutputsReceiver& receive) {
  for (const uint32_t index : samples) {
    std::vector<Tensor> inputs;
    for (const TensorView& view : dataset.sample(index)) inputs.push_back(borrowed(view));
    receive(dataset.sample_name(index), views_of(evaluate(model.graph(), inputs)));
  }
  return "plain evaluator";
}

LoadOptions load_options(const OutputsRequest& request, Clock& clock) {
  LoadOptions options;
  options.precision = request.precision;
  options.threads = request.threads;
  options.cache_dir = request.cache_dir;
  options.options = request.options;
  options.clock = &clock;
  return options;
}

void require_support(Backend& backend, const OutputsRequest& request, const Model& model) {
  Point point;
  point.model = request.model.name;
  point.weights = request.model.weights;
  point.backend = request.backend;
  point.precision = request.precision;
  point.threads = request.threads;
  point.options = request.options;
  const Support support = backend.supports(point, model.summary());
  if (!support.ok) throw Error(ErrorKind::refused, support.reason);
}

std::string run_samples(const OutputsRequest& request, const Model& model, const Dataset& dataset, std::span<const uint32_t> samples,
                        const OutputsReceiver& receive) {
  const auto plugin = open_plugin(request.backend);
  require_support(plugin->backend(), request, model);
  const auto clock = make_real_clock();
  LoadOptions options = load_options(request, *clock);
  Status status = Status::ok;
  options.completion = [&](std::span<const Done> done) { status = done.back().status; };
  const auto session = plugin->backend().load(model, options);
  std::vector<std::vector<TensorView>> inputs;
  for (const uint32_t index : samples) inputs.push_back(dataset.sample(index));
  session->stage(inputs);
  for (uint32_t position = 0; position < samples.size(); ++position) {
    session->enqueue(0, std::span(&position, 1), position);
    session->drain();
    if (status != Status::ok) throw Error(ErrorKind::refused, fmt::format("{} failed: {}", request.backend, session->last_error()));
    receive(dataset.sample_name(samples[position]), session->outputs(0));
  }
  return fmt::format("{} {}", request.backend, plugin->backend().version());
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

}  // namespace

nlohmann::json outputs_request_to_json(const OutputsRequest& request) {
  return {{"model", request.model.name},    {"weights", request.model.weights},   {"shapes", request.model.shapes},
          {"seed", request.model.seed},     {"data_dir", request.model.data_dir}, {"backend", request.backend},
          {"precision", request.precision}, {"dataset", request.dataset},         {"samples", request.samples},
          {"threads", request.threads},     {"cache_dir", request.cache_dir},     {"options", request.options}};
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
  request.model.cache_dir = request.cache_dir;
  return request;
}

std::string compute_outputs(const OutputsRequest& request, const OutputsReceiver& receive) {
  const auto model = open_model(request.model);
  const auto dataset = dataset_for(request, *model);
  std::vector<uint32_t> samples(std::min<size_t>(static_cast<size_t>(request.samples), dataset->size()));
  std::iota(samples.begin(), samples.end(), uint32_t{0});
  require_memory(*model, samples.size());
  dataset->load(samples);
  if (request.backend == reference_backend) return evaluate_samples(*model, *dataset, samples, receive);
  return run_samples(request, *model, *dataset, samples, receive);
}

int serve_outputs(int channel) {
  FrameWriter writer(channel);
  const auto request = FrameReader(channel).read();
  if (!request) return 1;
  try {
    const std::string version = compute_outputs(outputs_request_from_json(request->header),
                                                [&](const auto& sample, auto outputs) { writer.write(sample_frame(sample, outputs)); });
    writer.write({{{"kind", "done"}, {"version", version}}, {}});
  } catch (const Error& error) {
    writer.write({{{"kind", "error"}, {"error", static_cast<int>(error.kind())}, {"message", error.what()}}, {}});
  } catch (const std::bad_alloc&) {
    writer.write({{{"kind", "error"}, {"error", static_cast<int>(ErrorKind::out_of_memory)}, {"message", "memory does not suffice"}}, {}});
  }
  return 0;
}

}  // namespace deepgap
