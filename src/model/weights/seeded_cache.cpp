#include "model/weights/seeded_cache.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/own_file.h"
#include "model/weights/safetensors.h"

#include <deepgap/error.h>

#include <cmath>
#include <cstring>
#include <filesystem>

namespace deepgap {

namespace {

// Raised whenever the recipe gives other values.
constexpr int recipe_version = 2;

void add_tensor(Hasher& hasher, const Tensor& tensor) {
  hasher.add_value(tensor.type);
  hasher.add_value(tensor.shape.size());
  for (int64_t size : tensor.shape) hasher.add_value(size);
  hasher.add_value(tensor.data != nullptr);
  if (tensor.data) hasher.add(std::span(tensor.data.get(), tensor.bytes()));
}

void add_attribute(Hasher& hasher, const Attribute& attribute) {
  hasher.add_value(attribute.index());
  const auto add_list = [&](const auto& list) {
    hasher.add_value(list.size());
    for (const auto& item : list) hasher.add_value(item);
  };
  if (const auto* whole = std::get_if<int64_t>(&attribute)) hasher.add_value(*whole);
  if (const auto* real = std::get_if<float>(&attribute)) hasher.add_value(*real);
  if (const auto* text = std::get_if<std::string>(&attribute)) hasher.add(std::string_view(*text));
  if (const auto* wholes = std::get_if<std::vector<int64_t>>(&attribute)) add_list(*wholes);
  if (const auto* reals = std::get_if<std::vector<float>>(&attribute)) add_list(*reals);
  if (const auto* tensor = std::get_if<Tensor>(&attribute)) add_tensor(hasher, *tensor);
}

void add_ids(Hasher& hasher, const std::vector<ValueId>& ids) {
  hasher.add_value(ids.size());
  for (ValueId id : ids) hasher.add_value(id);
}

std::string key_of(const Graph& graph, uint64_t seed) {
  Hasher hasher;
  hasher.add_value(recipe_version);
  hasher.add_value(seed);
  hasher.add_value(graph.opset);
  for (const Node& node : graph.nodes) {
    hasher.add(std::string_view(node.op));
    hasher.add(std::string_view(node.domain));
    add_ids(hasher, node.inputs);
    add_ids(hasher, node.outputs);
    for (const auto& [name, attribute] : node.attributes) {
      hasher.add(std::string_view(name));
      add_attribute(hasher, attribute);
    }
  }
  for (const auto& [id, tensor] : graph.constants) {
    hasher.add(std::string_view(graph.values[id].name));
    add_tensor(hasher, tensor);
  }
  for (ValueId id : graph.inputs) {
    hasher.add(std::string_view(graph.values[id].name));
    for (const Dim& dim : graph.values[id].dims.value_or(Dims{})) {
      hasher.add_value(dim.size);
      hasher.add(std::string_view(dim.symbol));
    }
  }
  return hasher.digest();
}

bool all_finite(const Tensor& tensor) {
  if (tensor.type != DataType::f32) return false;
  for (int64_t i = 0; i < element_count(tensor.shape); ++i) {
    float value;
    std::memcpy(&value, tensor.data.get() + i * 4, 4);
    if (!std::isfinite(value)) return false;
  }
  return true;
}

}  // namespace

SeededCache::SeededCache(const std::string& folder, const Graph& graph, uint64_t seed) {
  if (!folder.empty()) path_ = folder + "/seeded-" + key_of(graph, seed) + ".safetensors";
}

std::map<std::string, Tensor> SeededCache::load() const {
  if (path_.empty() || !is_own_file(path_)) return {};  // or there is none
  try {
    auto tensors = read_safetensors(path_);
    for (const auto& [name, tensor] : tensors)
      if (!all_finite(tensor)) return {};
    return tensors;
  } catch (const Error&) {
    return {};  // damaged: made again and replaced
  }
}

void SeededCache::store(const std::map<std::string, Tensor>& tensors) const {
  if (path_.empty()) return;
  try {
    make_directories(std::filesystem::path(path_).parent_path().string());
    replace_file(path_, safetensors_content(tensors, {{"made_by", "deepgap seeded weights"}}));
  } catch (const Error&) {  // read-only or full: the next load measures again
  }
}

}  // namespace deepgap
