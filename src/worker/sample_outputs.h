// Computes a backend's answers to single samples, for `deepgap check`. Runs in its own child process, since engines must not share one.
#pragma once

#include "model/model_source.h"

#include "quantize/settings.h"
#include "worker/run_graph.h"

#include <deepgap/dataset.h>
#include <deepgap/record.h>
#include <deepgap/tensor.h>

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

// The backend's name for the reference interpreter, which needs no plug-in.
inline constexpr const char* reference_backend = "reference";

struct OutputsRequest {
  ModelRequest model;
  std::string backend = reference_backend;
  std::string checked;  // for a reference: the backend that is compared with it, which must not make it
  DeviceId device = {};
  Precision precision = Precision::fp32;
  bool precision_of_file = false;  // int8 for a quantized file, whatever `precision` is
  std::string dataset = "seeded";
  int64_t samples = 8;  // at most as many as the Dataset has
  int threads = 1;
  std::string cache_dir;
  std::map<std::string, std::string> options;  // the backend's
  // For precision int8 and an FP32 model: its QDQ form made so must be in the cache (quantize_order.h puts it there).
  QuantizeSettings quantize;
};
nlohmann::json outputs_request_to_json(const OutputsRequest& request);
OutputsRequest outputs_request_from_json(const nlohmann::json& json);

// The opened objects that a request names. `inputs` are views of loaded samples.
struct CheckedInputs {
  std::shared_ptr<const Model> model;         // makes the reference
  std::shared_ptr<const Model> engine_model;  // what the engine gets: `model`, or its QDQ form
  std::unique_ptr<Dataset> dataset;
  std::vector<uint32_t> samples;
  std::vector<std::vector<TensorView>> inputs;  // inputs of the samples
};
CheckedInputs open_checked(const OutputsRequest& request);
EngineChoice engine_of(const OutputsRequest& request);

// Called for each sample in order; views are valid during the call.
using OutputsReceiver = std::function<void(const std::string& sample, std::span<const TensorView> outputs)>;

struct OutputsMade {
  std::string version;                    // version of the engine
  Precision judged_as = Precision::fp32;  // judged_precision() of the model
  std::vector<std::string> outputs;       // their names
  std::string random;                     // the node that makes them random, as random_node() returns it; empty: none does
  std::string overflow;                   // for a reference, as ReferenceRun says
};
// Runs each sample alone, at batch 1. If the network insists on a batch, that many run at a time, called by the first one's name. Each test
// set in an ONNX folder is one query, with the sizes that its tensors have. Throws Error as open_model, open_dataset, open_plugin and
// load() do.
OutputsMade compute_outputs(const OutputsRequest& request, const OutputsReceiver& receive);

}  // namespace deepgap
