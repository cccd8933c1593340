// Runs single samples through a named engine, for what is not measured: checks, references, calibration. In a child process only.
#pragma once

#include <deepgap/backend.h>
#include <deepgap/model.h>
#include <deepgap/point.h>
#include <deepgap/tensor.h>

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

struct EngineChoice {
  std::string backend = "native";
  DeviceId device = {};
  std::string precision = "fp32";
  int threads = 1;
  std::string cache_dir;
  std::map<std::string, std::string> options;  // of the backend
};

// Called for each sample in order; views are valid during the call. With a fixed batch in the network the sample fills all of it.
using SampleReceiver = std::function<void(size_t position, std::span<const TensorView> outputs)>;

// Returns the engine's name and version. Throws Error as open_plugin(), supports() and load() say.
// Throws Error{usage} naming an option that the backend does not have ("did you mean").
void require_options(const Backend& backend, const std::map<std::string, std::string>& given);
// Throws Error{refused} with the reason when the backend does not run the model so.
void require_support(Backend& backend, const EngineChoice& engine, const Model& model);
// To load it so, for one query at a time; the completion is left to the caller. `clock` outlives the Session.
LoadOptions load_options(const EngineChoice& engine, int64_t batch, Clock& clock);

std::string run_on_engine(const EngineChoice& engine, const Model& model, std::span<const std::vector<TensorView>> samples,
                          const SampleReceiver& receive);
inline constexpr const char* evaluator_name = "plain evaluator";
// The same by the plain evaluator, whose name it returns. Throws Error{refused} for an operator that it does not have.
std::string run_on_evaluator(const Model& model, std::span<const std::vector<TensorView>> samples, const SampleReceiver& receive);
// The same; where it refuses the Graph, by ONNX Runtime in FP32. Throws Error{refused} with both reasons when neither can.
std::string run_reference(const Model& model, int threads, std::span<const std::vector<TensorView>> samples, const SampleReceiver& receive);
// On native in FP32; where it refuses the Graph, by the plain evaluator.
std::string run_fp32(const Model& model, int threads, std::span<const std::vector<TensorView>> samples, const SampleReceiver& receive);

// The batch that the network insists on; 1 where it leaves it open.
int64_t fixed_batch(const GraphSummary& summary);
// A tensor that borrows the view's bytes for the length of a call.
Tensor borrowed(const TensorView& view);
// With bytes of its own: outlives the view's.
Tensor copy_of(const TensorView& view);
// A tensor of its own with `batch` times the sample along the first dimension.
Tensor repeated(const TensorView& sample, int64_t batch);

}  // namespace deepgap
