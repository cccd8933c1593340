// Steps of training: the Graph's operations, the loss, gradients that the library adds to the graph (TF_AddGradients), and updates of the
// variables. A query of the Session is one step; its output is the loss.
// One thread at a time.
#pragma once

#include "backends/tensorflow/tf_network.h"
#include "backends/tensorflow/train/tf_optimizer.h"
#include "backends/tensorflow/train/tf_variables.h"

#include <map>
#include <string>
#include <vector>

namespace deepgap {

class TfTrainer final : public TfNetwork {
 public:
  // Throws Error{refused}: nothing to train, settings that are not computed here. The Model outlives it.
  TfTrainer(const Model& model, const TfSettings& settings, const TrainSettings& train);

  // Leaves weights and state as they were at load. Throws Error{refused} naming the operator that has no gradient in the library.
  void prepare(int64_t batch) override;
  // `inputs`: the Graph's, and the target behind them.
  std::vector<TfTensor> run(int64_t batch, std::span<const TfTensor> inputs) override;
  std::vector<LayerTiming> layer_timings(int64_t batch, std::span<const TfTensor> inputs) override;
  PrecisionShares precision_shares(const Model&, int64_t, std::span<const TfTensor>) override { return {}; }
  void reset() override;
  std::map<std::string, Tensor> trained_weights() override;
  MemoryKinds memory_kinds() const override;

 private:
  TfSession::Fetches made_for(int64_t batch);
  TfOutput loss_of(TfOutput scores, TfOutput target, int64_t batch);
  void add_updates(TfOutput loss, TfSession::Fetches& step);

  const Model& model_;
  Graph graph_;  // without what stands behind the scores
  TrainSettings train_;
  TfGraph tf_graph_;
  TfScope scope_;
  TfVariables variables_;
  TfOptimizer optimizer_;
  TfSession session_;  // goes before the graph
  std::map<int64_t, TfSession::Fetches> steps_;
};

}  // namespace deepgap
