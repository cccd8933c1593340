#include "worker/reference.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/own_file.h"
#include "model/weights/safetensors.h"
#include "worker/check.h"
#include "worker/run_graph.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

namespace deepgap {
namespace {

// Changed when what the evaluator computes, or what is said of it, changes.
constexpr int evaluator_edition = 6;
constexpr std::string_view by_evaluator = "native fp32 reference";

std::string reference_path(const std::string& cache_dir, const std::string& key, std::string_view against) {
  return fmt::format("{}/references/{}.{}.safetensors", cache_dir, key, against == by_evaluator ? "native" : against);
}

constexpr const char* overflow_name = "overflow";  // a text, as bytes

Tensor bytes_of(const std::string& text) {
  Tensor tensor = make_tensor(DataType::u8, {static_cast<int64_t>(text.size())});
  std::copy(text.begin(), text.end(), writable<uint8_t>(tensor).begin());
  return tensor;
}

std::string text_of(const Tensor& tensor) {
  if (tensor.type != DataType::u8) return "";
  const auto bytes = tensor.as<uint8_t>();
  return {bytes.begin(), bytes.end()};
}

std::string tensor_name(size_t sample, size_t output) { return fmt::format("{}.{}", sample, output); }

// Item `index` of a batch, with batch dimension 1. The view's shape must outlive it.
TensorView item_of(const TensorView& batch, int64_t index, Shape& shape) {
  shape.assign(batch.shape.begin(), batch.shape.end());
  shape.front() = 1;
  TensorView item{batch.type, shape, batch.data};
  item.data += static_cast<size_t>(index) * item.bytes();
  return item;
}

std::optional<Reference> read_reference(const std::string& path, std::string_view against) {
  std::error_code error;
  if (!std::filesystem::exists(path, error) || !is_own_file(path)) return std::nullopt;
  Reference reference{std::string(against), {}, ""};
  try {
    const std::map<std::string, Tensor> tensors = read_safetensors(path);
    if (const auto found = tensors.find(overflow_name); found != tensors.end()) reference.overflow = text_of(found->second);
    for (size_t sample = 0; tensors.count(tensor_name(sample, 0)) != 0; ++sample) {
      std::vector<Tensor> outputs;
      for (size_t output = 0; tensors.count(tensor_name(sample, output)) != 0; ++output) {
        outputs.push_back(tensors.at(tensor_name(sample, output)));
      }
      reference.outputs.push_back(std::move(outputs));
    }
  } catch (const Error&) {
    return std::nullopt;  // damaged: it is made again and written over
  }
  if (reference.outputs.empty()) return std::nullopt;
  const size_t outputs = reference.outputs.front().size();
  const bool whole =
      std::all_of(reference.outputs.begin(), reference.outputs.end(), [&](const auto& sample) { return sample.size() == outputs; });
  return whole ? std::optional(std::move(reference)) : std::nullopt;
}

}  // namespace

std::string reference_key(const Model& model, Dataset& dataset, std::span<const uint32_t> samples) {
  Hasher hasher;
  hasher.add_value(evaluator_edition);
  hasher.add(std::string_view(model.summary().content_hash));
  hasher.add_value(static_cast<uint64_t>(samples.size()));
  for (const uint32_t sample : samples) {
    for (const TensorView& view : dataset.sample(sample)) {
      hasher.add_value(view.type);
      hasher.add_value(static_cast<uint64_t>(view.shape.size()));
      for (const int64_t size : view.shape) hasher.add_value(size);
      hasher.add(std::span(view.data, view.bytes()));
    }
  }
  return hasher.digest();
}

std::optional<Reference> find_reference(const std::string& cache_dir, const std::string& key, const std::string& checked) {
  if (cache_dir.empty()) return std::nullopt;
  std::vector<std::string> makers = referring_engines(checked);
  makers.emplace(makers.begin(), by_evaluator);
  for (const std::string& against : makers) {
    if (auto reference = read_reference(reference_path(cache_dir, key, against), against)) return reference;
  }
  return std::nullopt;
}

void keep_reference(const std::string& cache_dir, const std::string& key, const Reference& reference) {
  if (cache_dir.empty()) return;
  std::map<std::string, Tensor> tensors;
  if (!reference.overflow.empty()) tensors[overflow_name] = bytes_of(reference.overflow);
  for (size_t sample = 0; sample < reference.outputs.size(); ++sample) {
    for (size_t output = 0; output < reference.outputs[sample].size(); ++output) {
      tensors[tensor_name(sample, output)] = reference.outputs[sample][output];
    }
  }
  make_directories(cache_dir + "/references");
  const std::string path = reference_path(cache_dir, key, reference.against);
  try {
    replace_file(path, safetensors_content(tensors, {{"against", reference.against}}));
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}; name another folder with --cache", error.what()));
  }
}

size_t referenced_queries(const Batching& batching, size_t samples) {
  return batching.kind == Batching::Kind::open ? samples : std::min<size_t>(samples, 1);
}

Reference make_reference(const Model& model, Dataset& dataset, std::span<const uint32_t> samples, const std::string& checked) {
  const Batching batching = batching_of(model.summary().inputs);
  std::vector<std::vector<TensorView>> inputs;
  for (const uint32_t sample : samples) inputs.push_back(dataset.sample(sample));
  const Queries queries(batching, inputs);
  const auto wanted = queries.inputs().first(referenced_queries(batching, queries.inputs().size()));
  Reference reference;
  const ReferenceRun made = run_reference(model, 1, wanted, checked, [&](size_t, std::span<const TensorView> views) {
    std::vector<Tensor> outputs;
    for (const TensorView& view : views) outputs.push_back(copy_of(view));
    reference.outputs.push_back(std::move(outputs));
  });
  for (const std::vector<Tensor>& outputs : reference.outputs) {
    for (const Tensor& output : outputs) {
      if (holds_nan(output.view()))
        throw Error(ErrorKind::refused, "the FP32 reference holds NaN, so that nothing can be compared: weights or inputs are not sound");
    }
  }
  reference.against = made.engine == evaluator_name ? std::string(by_evaluator) : made.engine.substr(0, made.engine.find(' '));
  reference.overflow = made.overflow;
  return reference;
}

namespace {

CheckResult judged(const OutputComparison& comparison, const Reference& reference, Precision precision) {
  CheckResult result = comparison.result(min_sqnr_db(precision));
  result.against = reference.against;
  return result;
}

}  // namespace

std::optional<CheckResult> compare_batch(const Reference& reference, std::span<const TensorView> outputs, int64_t batch,
                                         const Batching& batching, Precision precision) {
  const size_t expected_outputs = reference.outputs.front().size();
  if (outputs.size() != expected_outputs) {
    throw Error(ErrorKind::input, fmt::format("{} outputs, the reference has {}", outputs.size(), expected_outputs));
  }
  OutputComparison comparison;
  if (batching.kind != Batching::Kind::open) {
    for (size_t i = 0; i < outputs.size(); ++i) comparison.add(i, reference.outputs.front()[i].view(), outputs[i]);
    CheckResult result = judged(comparison, reference, precision);
    result.samples = batch;
    return result;
  }
  bool any = false;
  for (int64_t item = 0; item < batch; ++item) {
    const auto& expected = reference.outputs[static_cast<size_t>(item) % reference.outputs.size()];
    size_t compared = 0;
    for (size_t output = 0; output < outputs.size(); ++output) {
      const TensorView& actual = outputs[output];
      const bool has_batch = !actual.shape.empty() && actual.shape.front() == batch;
      if (!has_batch && batch != 1) continue;
      Shape shape;
      comparison.add(compared++, expected[output].view(), has_batch ? item_of(actual, item, shape) : actual);
    }
    any = any || compared > 0;
  }
  if (!any) return std::nullopt;
  return judged(comparison, reference, precision);
}

}  // namespace deepgap
