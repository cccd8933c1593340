// Runs single queries through a named engine, for what is not measured: checks, references, calibration. In a child process only.
//
// A query here is all inputs of a network as they are: one sample, or as many as the network insists on (deepgap/batching.h).
#pragma once

#include <deepgap/backend.h>
#include <deepgap/batching.h>
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
  Precision precision = Precision::fp32;
  int threads = 1;
  std::string cache_dir;
  std::map<std::string, std::string> options;  // the backend's
  Task task = Task::infer;
};

// Views into the samples that a query is made of, with shapes of their own.
class QuerySamples {
 public:
  // The samples of one query: itself, unless the batch divides it. The query's bytes outlive them.
  QuerySamples(const std::vector<TensorInfo>& inputs, const std::vector<TensorView>& query);
  QuerySamples(QuerySamples&&) = default;  // a copy would show the shapes of this one
  std::span<const std::vector<TensorView>> samples() const { return samples_; }

 private:
  std::vector<Shape> shapes_;  // shape of a sample, per input
  std::vector<std::vector<TensorView>> samples_;
};

// Samples as queries: each alone, or where the batch is fixed so many together, beginning again with the first where they run out.
class Queries {
 public:
  // The samples' bytes outlive the queries.
  Queries(const Batching& batching, std::span<const std::vector<TensorView>> samples);
  Queries(Queries&&) = default;
  std::span<const std::vector<TensorView>> inputs() const { return inputs_; }

 private:
  std::vector<std::vector<Tensor>> joined_;
  std::vector<std::vector<TensorView>> inputs_;
};

// Called for each query in order; views are valid during the call.
using QueryReceiver = std::function<void(size_t position, std::span<const TensorView> outputs)>;

// Throws Error{usage} naming an option that the backend does not have ("did you mean") or a value that it does not take, Error{refused}
// with the reason when the backend does not run the model so.
void require_support(Backend& backend, const EngineChoice& engine, const Model& model);
// Returns the options to load it so, for one query at a time; the completion is left to the caller. `clock` outlives the Session.
LoadOptions load_options(const EngineChoice& engine, int64_t batch, Clock& clock);

// Returns the engine's name and version. Throws Error as open_plugin(), supports() and load() say.
std::string run_on_engine(const EngineChoice& engine, const Model& model, std::span<const std::vector<TensorView>> queries,
                          const QueryReceiver& receive);
inline constexpr const char* evaluator_name = "reference interpreter";
// Does the same by the reference interpreter, whose name it returns. `observe` sees every value. Throws Error{refused} for an operator that
// it does not have.
std::string run_on_evaluator(const Model& model, std::span<const std::vector<TensorView>> queries, const QueryReceiver& receive,
                             const std::function<void(ValueId, const Tensor&)>& observe = {});
struct ReferenceRun {
  std::string engine;    // name and version
  std::string overflow;  // why outputs depend on where an engine rounds (RoundingWatch::why): "node 'sq' (Pow) makes 3.6e+05, where ..."
};
// The same; where it refuses the Graph, by ONNX Runtime or else OpenVINO in FP32, but not by `checked`, the engine that is to be compared
// with it: its answer cannot be a reference for itself. A network of 16-bit floats is computed in FP32 without rounding between its
// operators (model/widened_graph.h). Throws Error{refused} with all reasons when none can.
ReferenceRun run_reference(const Model& model, int threads, std::span<const std::vector<TensorView>> queries, const std::string& checked,
                           const QueryReceiver& receive);
// Returns those engines, in that order.
std::vector<std::string> referring_engines(const std::string& checked);
// Runs on native in FP32 or, if native refuses the Graph, on the reference interpreter.
std::string run_fp32(const Model& model, int threads, std::span<const std::vector<TensorView>> queries, const QueryReceiver& receive);

// A tensor that borrows the view's bytes for the length of a call.
Tensor borrowed(const TensorView& view);
// Copies the bytes, so that the Tensor outlives the view.
Tensor copy_of(const TensorView& view);

}  // namespace deepgap
