#include "worker/reading.h"

#include "dataset/open_dataset.h"
#include "model/onnx_test_set.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

namespace deepgap {
namespace {

bool is_made_up(const std::string& dataset) { return dataset == "seeded" || dataset == "zeros"; }

bool is_file(const std::string& text) {
  std::error_code error;
  return text.find_first_of("/.") != std::string::npos && std::filesystem::exists(text, error);
}

std::vector<std::string> names_of(const std::vector<TensorInfo>& tensors) {
  std::vector<std::string> names;
  for (const TensorInfo& tensor : tensors) names.push_back(tensor.name);
  return names;
}

void look_at_set(const std::string& set, const GraphSummary& model) {
  test_inputs(set, names_of(model.inputs));
  if (is_file(set + "/output_0.pb")) test_outputs(set, names_of(model.outputs));
}

}  // namespace

Confinement reader_confinement() { return {.file_bytes = reader_file_bytes, .descriptors = reader_descriptors}; }

bool reads_files(const Point& point) {
  // Labels and traces are options.
  const bool of_file = !is_remote(point.placement) && is_model_file(point.model);
  return of_file || point.weights != "seeded" || !is_made_up(point.dataset) ||
         std::any_of(point.options.begin(), point.options.end(), [](const auto& option) { return is_file(option.second); });
}

bool reads_files(const OutputsRequest& request) {
  return is_model_file(request.model.name) || request.model.weights != "seeded" || !is_made_up(request.dataset);
}

void look_at_inputs(const OutputsRequest& request) {
  ModelRequest named = sized_by_dataset(request.model, request.dataset);
  // Weights of a zoo's network that come out of a seed cost much and cannot be wrong.
  const bool made_up = named.weights == "seeded" && !is_model_file(named.name);
  const ModelOutline outline = made_up ? outline_model(named) : outline_of(*open_model(named));
  const GraphSummary& model = outline.summary;
  require_steering(outline.steering, named.numbers, request.dataset, named.name);
  if (std::vector<std::string> sets = onnx_test_sets(request.dataset); !sets.empty()) {
    sets.resize(std::min(sets.size(), static_cast<size_t>(request.samples)));
    for (const std::string& set : sets) look_at_set(set, model);
    return;
  }
  if (is_made_up(request.dataset) && named.numbers.empty()) return;
  DatasetRequest wanted;
  wanted.name = request.dataset;
  wanted.inputs = model.inputs;
  wanted.numbers = with_given(outline.steering, named.numbers);
  wanted.preprocessing = preprocessing_for(request.model.name);
  wanted.size = static_cast<size_t>(request.samples);
  wanted.data_dir = request.model.data_dir.empty() ? default_data_dir() : request.model.data_dir;
  const auto dataset = open_dataset(wanted);
  std::vector<uint32_t> samples(std::min<size_t>(static_cast<size_t>(request.samples), dataset->size()));
  std::iota(samples.begin(), samples.end(), uint32_t{0});
  dataset->load(samples);
}

}  // namespace deepgap
