#include "model/onnx_test_set.h"

#include "base/text.h"
#include "model/graph_tools.h"
#include "model/onnx_reader.h"

#include <deepgap/batching.h>
#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

bool is_set(const std::string& folder) {
  std::error_code error;
  return fs::exists(folder + "/input_0.pb", error) || fs::exists(folder + "/output_0.pb", error);
}

int64_t set_number(const std::string& path) {
  return parse_int(fs::path(path).filename().string().substr(std::string_view("test_data_set_").size())).value_or(-1);
}

std::vector<TestTensor> tensors_of(const std::string& set, const std::string& kind) {
  std::vector<TestTensor> tensors;
  std::error_code error;
  for (int i = 0;; ++i) {
    const std::string file = fmt::format("{}/{}_{}.pb", set, kind, i);
    if (!fs::exists(file, error)) return tensors;
    auto [name, tensor] = read_named_tensor_proto(file);
    tensors.push_back({file, std::move(name), std::move(tensor)});
  }
}

// Where each name stands among the files'; empty where one does not.
std::vector<size_t> places_by_name(const std::vector<TestTensor>& tensors, const std::vector<std::string>& names) {
  std::vector<size_t> places;
  for (const std::string& name : names) {
    const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const TestTensor& tensor) { return tensor.name == name; });
    if (found == tensors.end() || name.empty()) return {};
    places.push_back(static_cast<size_t>(found - tensors.begin()));
  }
  return places;
}

std::vector<TestTensor> ordered(const std::string& set, const std::string& kind, const std::vector<std::string>& names) {
  std::vector<TestTensor> tensors = tensors_of(set, kind);
  if (const auto places = places_by_name(tensors, names); !places.empty()) {
    std::vector<TestTensor> found;
    for (const size_t place : places) found.push_back(tensors[place]);
    return found;
  }
  if (tensors.empty() && !names.empty()) throw Error(ErrorKind::input, fmt::format("{} has no {}_0.pb for '{}'", set, kind, names.front()));
  if (tensors.size() != names.size())
    throw Error(ErrorKind::input,
                fmt::format("{} has {} {}_N.pb, the model {} {}s: {}", set, tensors.size(), kind, names.size(), kind, join(names, ", ")));
  return tensors;
}

// Returns whether a tensor of that shape can be an input of these dims.
bool fits(const Dims& dims, const Shape& shape) {
  if (dims.size() != shape.size()) return false;
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i].known() ? dims[i].size != shape[i] : dims[i].size == 0 || shape[i] % dims[i].size != 0) return false;
  return true;
}

std::string dims_text(const Dims& dims) {
  std::vector<std::string> sizes;
  for (const Dim& dim : dims)
    sizes.push_back(dim.known() ? std::to_string(dim.size) : dim.size == 1 ? dim.symbol : fmt::format("{}*{}", dim.size, dim.symbol));
  return fmt::format("[{}]", join(sizes, ","));
}

void require_fit(const Value& input, const TestTensor& given) {
  const Shape& shape = given.tensor.shape;
  if (given.tensor.type == input.type && (!input.dims || fits(*input.dims, shape))) return;
  throw Error(ErrorKind::input,
              fmt::format("{} holds {} [{}], input '{}' takes {} {}", given.file, name_of(given.tensor.type), fmt::join(shape, ","),
                          input.name, name_of(input.type), input.dims ? dims_text(*input.dims) : "of any shape"));
}

// Returns whether all tensors hold the same number of samples, at least one, along the open batch.
bool batch_stays_open(const std::vector<Value>& inputs, const std::vector<TestTensor>& tensors) {
  if (batching_of(inputs).kind != Batching::Kind::open) return false;
  const auto samples = [&](size_t i) { return tensors[i].tensor.shape.front() / std::max<int64_t>(inputs[i].dims->front().size, 1); };
  for (size_t i = 0; i < inputs.size(); ++i)
    if (samples(i) != samples(0) || samples(i) < 1) return false;
  return true;
}

}  // namespace

std::vector<std::string> onnx_test_sets(const std::string& folder) {
  if (is_set(folder)) return {folder};
  std::error_code error;
  std::vector<std::string> sets;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename().string().rfind("test_data_set_", 0) == 0 && is_set(entry.path().string()))
      sets.push_back(entry.path().string());
  }
  std::sort(sets.begin(), sets.end(), [](const auto& a, const auto& b) { return set_number(a) < set_number(b); });
  return sets;
}

std::vector<TestTensor> test_inputs(const std::string& set, const std::vector<std::string>& names) { return ordered(set, "input", names); }
std::vector<TestTensor> test_outputs(const std::string& set, const std::vector<std::string>& names) {
  return ordered(set, "output", names);
}

Graph bind_test_set(const Graph& graph, const std::string& set) {
  std::vector<Value> inputs;
  std::vector<std::string> names;
  for (const ValueId id : graph.inputs) {
    inputs.push_back(graph.values[static_cast<size_t>(id)]);
    names.push_back(inputs.back().name);
  }
  const std::vector<TestTensor> tensors = test_inputs(set, names);
  for (size_t i = 0; i < inputs.size(); ++i) require_fit(inputs[i], tensors[i]);
  const bool open_batch = batch_stays_open(inputs, tensors);
  std::map<std::string, std::vector<int64_t>> sizes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::vector<int64_t> shape(tensors[i].tensor.shape.begin(), tensors[i].tensor.shape.end());
    if (open_batch) shape.front() = -1;
    sizes[names[i]] = std::move(shape);
  }
  return bind_shapes(graph, sizes);
}

}  // namespace deepgap
