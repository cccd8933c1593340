// The network that a Session runs: deepgap's Graph as operations of TensorFlow (tf_program.h), steps of its training (tf_trainer.h), or a
// user's own SavedModel (tf_saved_model.h).
#pragma once

#include "backends/common/port.h"
#include "backends/tensorflow/tf_objects.h"
#include "backends/tensorflow/tf_settings.h"

#include <deepgap/backend.h>
#include <deepgap/model.h>
#include <deepgap/session.h>

#include <map>
#include <memory>
#include <span>
#include <vector>

namespace deepgap {

// A session of the library, closed with its owner.
class TfSession {
 public:
  TfSession() = default;
  explicit TfSession(TfSessionObject* session) : session_(session) {}
  ~TfSession();
  TfSession(const TfSession&) = delete;
  TfSession& operator=(const TfSession&) = delete;
  void open(TfGraphObject* graph, const TfSettings& settings);  // throws TfFailure

  struct Fetches {
    std::vector<TfOutput> inputs, outputs;
    std::vector<const TfOperation*> targets;  // run for what they do
  };
  // Throws TfFailure. `metadata`, where given, gets a RunMetadata for these RunOptions.
  std::vector<TfTensor> run(const Fetches& fetches, std::span<const TfTensor> inputs, const std::string& run_options = {},
                            TfBuffer* metadata = nullptr) const;

 private:
  TfSessionObject* session_ = nullptr;
};

// Session options with the settings in their ConfigProto.
TfSessionOptionsHandle tf_session_options(const TfSettings& settings);

class TfNetwork {
 public:
  virtual ~TfNetwork() = default;
  // Makes what a batch size needs, if it is not there, and runs it once, so that the library compiles it. Throws Error.
  virtual void prepare(int64_t batch) = 0;
  // Thread-safe for batch sizes that are prepared. Throws Error.
  virtual std::vector<TfTensor> run(int64_t batch, std::span<const TfTensor> inputs) = 0;
  virtual std::vector<LayerTiming> layer_timings(int64_t batch, std::span<const TfTensor> inputs) = 0;
  virtual PrecisionShares precision_shares(const Model& model, int64_t batch, std::span<const TfTensor> inputs) = 0;
  // A training overrides these, as the Session's functions of these names.
  virtual void reset() {}
  virtual std::map<std::string, Tensor> trained_weights() { return {}; }
  virtual MemoryKinds memory_kinds() const { return {}; }
};

// Steps of training where the request is of task train, the SavedModel where the settings name one, else the Graph. Throws
// Error{refused}. The Model outlives the network.
std::unique_ptr<TfNetwork> make_tf_network(const Model& model, const EngineRequest& request, const TfSettings& settings);

// Zeros in the shapes of these inputs at this batch size; they own their bytes.
std::vector<TfTensor> tf_zeros(const std::vector<Port>& inputs, int64_t batch);

}  // namespace deepgap
