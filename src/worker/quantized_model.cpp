#include "worker/quantized_model.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/own_file.h"
#include "base/text.h"
#include "model/integer_values.h"
#include "model/model_of.h"
#include "model/onnx_metadata.h"
#include "model/onnx_reader.h"
#include "model/onnx_writer.h"
#include "model/widened_graph.h"
#include "model/zoo/zoo.h"
#include "worker/memory_limit.h"
#include "worker/quantized_outputs.h"
#include "worker/run_graph.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <set>

namespace deepgap {
namespace {

// Raised whenever the same settings give another file.
constexpr int method_version = 4;
constexpr std::string_view metadata_prefix = "deepgap.quantize.";

std::string automatic_dataset(const ModelRequest& request, const std::string& point_dataset) {
  const bool zoo = !is_model_file(request.name);
  ZooOptions options;
  const auto entry = zoo ? find_zoo_model(request.name, options) : nullptr;
  if (zoo && request.weights == "seeded") return "seeded";
  if (entry != nullptr && entry->weight_sets().contains(request.weights)) return "pictures";
  return point_dataset == "zeros" ? "seeded" : point_dataset;  // zeros show no range
}

std::string method_of(const QuantizeSettings& settings) {
  return settings.method == "percentile" ? fmt::format("percentile {:g}", settings.percentile) : settings.method;
}

Queries queries_of(const CalibrationSamples& samples, const Model& model) {
  std::vector<std::vector<TensorView>> inputs;
  for (const uint32_t index : samples.indices) inputs.push_back(samples.dataset->sample(index));
  return {batching_of(model.summary().inputs), inputs};
}

void require_same_model(const CalibrationTable& table, const Model& model) {
  if (table.model_hash == model.summary().content_hash) return;
  throw Error(ErrorKind::input,
              fmt::format("the calibration table is of {} ({}), not of {} ({}) with these weights: calibrate it anew", table.model,
                          table.model_hash.substr(0, 8), model.name(), model.summary().content_hash.substr(0, 8)));
}

// Runs what calibrating and judging need: all samples, or with a given table the judging ones alone.
std::vector<Activations> calibrate(const Model& model, const CalibrationSamples& samples, std::span<const std::vector<TensorView>> inputs,
                                   int threads, Quantizer& quantizer, bool given, QuantizedModel& result) {
  const size_t judging = quantizer.judges() ? std::min(inputs.size(), Quantizer::judging_samples) : 0;
  if (given) inputs = inputs.first(judging);
  std::vector<Activations> reference;
  if (inputs.empty()) {
    result.calibrated_by = "a calibration table";
    return reference;
  }
  const auto observing = model_of(model.name(), quantizer.observing_graph());
  const std::string engine = run_fp32(*observing, threads, inputs, [&](size_t position, std::span<const TensorView> outputs) {
    if (!given) quantizer.observe(samples.dataset->sample_name(samples.indices[position]), inputs[position], outputs);
    if (position < judging) reference.push_back(quantizer.activations(inputs[position], outputs));
  });
  result.calibrated_by = given ? "a calibration table" : engine;
  return reference;
}

// Returns "200 samples of crops of 6 images, ...". Datasets that count their samples are not counted twice.
std::string described(const CalibrationSamples& samples) {
  const std::string count = fmt::format("{} samples", samples.indices.size()), dataset = samples.dataset->describe();
  return dataset.ends_with(", " + count) ? dataset : fmt::format("{} of {}", count, dataset);
}

CalibrationTable table_of(const Model& model, const CalibrationSamples& samples, const QuantizeSettings& settings,
                          const Quantizer& quantizer) {
  return {model.summary().content_hash, model.name(), method_of(settings), described(samples), quantizer.ranges()};
}

std::vector<NodeError> judge(Quantizer& quantizer, const std::vector<Activations>& reference, int threads) {
  UnitProbe probe = quantizer.probe();
  std::vector<std::vector<Tensor>> tensors;
  std::vector<std::vector<TensorView>> inputs;
  for (const Activations& sample : reference) {
    tensors.push_back(probe.inputs(sample));
    inputs.emplace_back();
    for (const Tensor& tensor : tensors.back()) inputs.back().push_back(tensor.view());
  }
  run_fp32(*model_of("the nodes alone", probe.graph()), threads, inputs,
           [&](size_t position, std::span<const TensorView> outputs) { probe.compare(reference[position], outputs); });
  return quantizer.judge(probe);
}

void describe(QuantizedModel& result, const QuantizeSettings& settings) {
  std::vector<std::string> kept;
  for (const KeptNode& node : result.kept) kept.push_back(fmt::format("{} ({})", node.name, node.reason));
  const auto set = [&](const std::string& key, const std::string& value) { result.metadata[std::string(metadata_prefix) + key] = value; };
  set("version", std::to_string(method_version));
  set("deepgap", DEEPGAP_VERSION);
  set("method", result.table.method);
  set("activations", settings.activations);
  set("dataset", result.table.dataset);
  set("keep", settings.keep);
  set("kept", join(kept, ", "));
  set("quantized_nodes", std::to_string(result.quantized_nodes));
  set("mac_share", fmt::format("{:.6f}", result.int8_mac_share));
  if (result.output_sqnr_db) set("output_sqnr_db", fmt::format("{:.1f}", *result.output_sqnr_db));
  set("model", result.table.model);
  set("model_hash", result.table.model_hash);
}

std::string path_of(const std::string& cache_dir, const std::string& key) { return fmt::format("{}/quantized/{}.onnx", cache_dir, key); }

// The file would be the FP32 network that it was made of.
Error nothing_quantized(const Model& model, const std::vector<KeptNode>& kept) {
  if (kept.empty()) return {ErrorKind::refused, fmt::format("{} has no node with an INT8 form", model.name())};
  const KeptNode& first = kept.front();
  return {ErrorKind::refused,
          fmt::format("nothing of {} is left to quantize: all {} nodes stay in FP32 ({}: {}); see --keep and --min-sqnr-db", model.name(),
                      kept.size(), first.name, first.reason)};
}

}  // namespace

CalibrationSamples calibration_samples(const ModelRequest& request, const Model& model, const QuantizeSettings& settings,
                                       const std::string& point_dataset) {
  DatasetRequest wanted;
  wanted.name = settings.dataset == "auto" ? automatic_dataset(request, point_dataset) : settings.dataset;
  wanted.inputs = model.summary().inputs;
  wanted.preprocessing = preprocessing_for(request.name);
  wanted.integer_values = integer_values(model.graph());
  wanted.numbers = with_given(steering_inputs(model.graph()), request.numbers);
  wanted.seed = settings.seed;
  wanted.size = static_cast<size_t>(settings.samples);
  wanted.data_dir = request.data_dir.empty() ? default_data_dir() : request.data_dir;
  CalibrationSamples samples{open_dataset(wanted), {}, !is_chaotic(request.name, request.weights)};
  samples.indices.resize(std::min(samples.dataset->size(), static_cast<size_t>(settings.samples)));
  if (samples.indices.empty()) throw Error(ErrorKind::input, fmt::format("the calibration dataset {} has no samples", wanted.name));
  std::iota(samples.indices.begin(), samples.indices.end(), 0U);
  if (const std::string lack = lack_of_memory(wanted.inputs, samples.indices.size(), 1, memory_for_worker(SystemRoot("/"))); !lack.empty())
    throw Error(ErrorKind::out_of_memory, lack);
  samples.dataset->load(samples.indices);
  return samples;
}

QuantizedModel quantize_model(const Model& model, const CalibrationSamples& samples, const QuantizeSettings& settings, int threads,
                              const CalibrationTable* given) {
  if (given != nullptr) require_same_model(*given, model);
  Quantizer quantizer(model.graph(), settings, model.name());
  QuantizedModel result;
  const Queries queries = queries_of(samples, model);
  const auto inputs = queries.inputs();
  const std::vector<Activations> reference = calibrate(model, samples, inputs, threads, quantizer, given != nullptr, result);
  result.table = given != nullptr ? *given : table_of(model, samples, settings, quantizer);
  quantizer.use_ranges(result.table.ranges);
  if (quantizer.judges()) {
    result.node_errors = judge(quantizer, reference, threads);
    if (samples.outputs_tell) result.output_sqnr_db = keep_for_outputs(model, inputs, settings, threads, quantizer);
  }
  QuantizedGraph quantized = quantizer.quantize();
  result.graph = std::move(quantized.graph);
  result.kept = std::move(quantized.kept);
  result.quantized_nodes = quantized.quantized_nodes;
  result.int8_mac_share = quantized.int8_mac_share;
  if (result.quantized_nodes == 0) throw nothing_quantized(model, result.kept);
  describe(result, settings);
  return result;
}

Precision judged_precision(Precision precision, const Model& model) {
  if (has_quantization(model.summary())) return Precision::int8;
  const bool is_full = precision == Precision::fp32 || precision == Precision::tf32;
  return is_full && has_short_floats(model.graph()) ? Precision::fp16 : precision;
}

bool has_quantization(const GraphSummary& summary) {
  return std::any_of(summary.operators.begin(), summary.operators.end(), [](const OperatorUse& use) {
    static const std::set<std::string_view> others{"MatMulNBits", "QAttention", "QGemm"};  // in com.microsoft
    return use.op.find("QuantizeLinear") != std::string::npos || use.op.starts_with("QLinear") || use.op.ends_with("Integer") ||
           use.op.starts_with("DynamicQuantize") || use.op.starts_with("MatMulInteger") || others.contains(use.op);
  });
}

std::string quantized_key(const Model& model, const CalibrationSamples& samples, const QuantizeSettings& settings) {
  Hasher hasher;
  hasher.add_value(method_version);
  hasher.add(std::string_view(DEEPGAP_VERSION));
  hasher.add(std::string_view(model.summary().content_hash));
  for (const auto& [name, value] : quantize_options().values(settings)) {
    hasher.add(std::string_view(name));
    hasher.add(std::string_view(value));
  }
  for (const uint32_t index : samples.indices) {
    for (const TensorView& view : samples.dataset->sample(index)) hasher.add(std::span(view.data, view.bytes()));
  }
  return hasher.digest();
}

KeptQuantized find_quantized(const std::string& cache_dir, const std::string& key, const std::string& name) {
  const std::string path = path_of(cache_dir, key);
  if (cache_dir.empty() || !is_own_file(path)) return {};  // or there is none
  try {
    return {model_of(name, read_onnx(path)), quantized_facts(read_onnx_metadata(path))};
  } catch (const Error&) {
    return {};  // damaged: it is made again and written over
  }
}

void keep_quantized(const std::string& cache_dir, const std::string& key, const QuantizedModel& quantized) {
  if (cache_dir.empty()) return;
  make_directories(cache_dir + "/quantized");
  replace_file(path_of(cache_dir, key), write_onnx(quantized.graph, quantized.metadata));
}

Facts quantized_facts(const std::map<std::string, std::string>& metadata) {
  Facts facts;
  for (const auto& [key, value] : metadata) {
    if (!key.starts_with(metadata_prefix)) continue;
    const std::string name = key.substr(metadata_prefix.size());
    if (const auto number = name == "mac_share" || name == "output_sqnr_db" ? parse_double(value) : std::nullopt) {
      facts["quantize." + name] = *number;
    } else {
      facts["quantize." + name] = value;
    }
  }
  if (facts.empty()) facts["quantize.method"] = std::string("not known: the file came quantized");
  return facts;
}

}  // namespace deepgap
