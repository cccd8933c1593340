// The QDQ form of an FP32 Model: made once, kept in the cache as ONNX, and given to every engine as the same bytes.
//
// The key is the content of network, weights, calibration samples and settings, and the version of the method, so a kept file is never
// stale. Writing is atomic; a damaged file counts as none. Making one runs the native engine in this process: do it in a child of its own.
#pragma once

#include "dataset/open_dataset.h"
#include "model/model_source.h"
#include "quantize/quantizer.h"
#include "quantize/settings.h"

#include <deepgap/dataset.h>
#include <deepgap/model.h>
#include <deepgap/record.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace deepgap {

// The samples that ranges are calibrated on, loaded.
struct CalibrationSamples {
  std::unique_ptr<Dataset> dataset;
  std::vector<uint32_t> indices;
  bool outputs_tell = true;  // false: the network's outputs say nothing of its nodes (is_chaotic)
};
// `point_dataset` is what "auto" falls back to. Throws as open_dataset and load do; Error{input} for a Dataset without samples.
CalibrationSamples calibration_samples(const ModelRequest& request, const Model& model, const QuantizeSettings& settings,
                                       const std::string& point_dataset);

struct QuantizedModel {
  Graph graph;
  std::map<std::string, std::string> metadata;  // what is known of its making, for the file
  CalibrationTable table;
  std::vector<KeptNode> kept;
  std::vector<NodeError> node_errors;    // where keep=auto asked for them
  std::optional<double> output_sqnr_db;  // the worst output's, on the samples that judged; likewise
  int64_t quantized_nodes = 0;
  double int8_mac_share = 0;
  std::string calibrated_by;  // engine and version
};
// This is slow. Throws Error{input | usage} as the Quantizer does. With `given`, nothing runs for ranges; another model's is refused.
QuantizedModel quantize_model(const Model& model, const CalibrationSamples& samples, const QuantizeSettings& settings, int threads,
                              const CalibrationTable* given = nullptr);

// Returns whether the network quantizes values: then it is used unchanged. Weights stored as integers (DequantizeLinear) do not count.
bool has_quantization(const GraphSummary& summary);
// Returns the precision as which outputs are judged (min_sqnr_db): those of a quantized file as int8 in any precision, since it rounds to
// levels wherever it runs; those of a network with 16-bit floats as fp16 at best, since an engine may round to them after each operator.
Precision judged_precision(Precision precision, const Model& model);

std::string quantized_key(const Model& model, const CalibrationSamples& samples, const QuantizeSettings& settings);
struct KeptQuantized {
  std::shared_ptr<const Model> model;
  Facts facts;  // as quantized_facts() returns them
};
// `model` is null where there is none.
KeptQuantized find_quantized(const std::string& cache_dir, const std::string& key, const std::string& name);
// Throws Error{input} naming the file where it cannot be written.
void keep_quantized(const std::string& cache_dir, const std::string& key, const QuantizedModel& quantized);

// Returns what a Record says about a quantized Model: quantize.* from the file's metadata; for a foreign file it says so.
Facts quantized_facts(const std::map<std::string, std::string>& metadata);

}  // namespace deepgap
