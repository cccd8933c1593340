// deepgap's Graph as operations of one TensorFlow graph: a part for each batch size, which share the constants.
#pragma once

#include "backends/tensorflow/tf_network.h"
#include "backends/tensorflow/tf_values.h"

#include <map>
#include <string>

namespace deepgap {

class TfProgram final : public TfNetwork {
 public:
  // The Graph outlives the program.
  TfProgram(const Graph& graph, const TfSettings& settings);

  void prepare(int64_t batch) override;
  std::vector<TfTensor> run(int64_t batch, std::span<const TfTensor> inputs) override;
  std::vector<LayerTiming> layer_timings(int64_t batch, std::span<const TfTensor> inputs) override;
  PrecisionShares precision_shares(const Model& model, int64_t batch, std::span<const TfTensor> inputs) override;

 private:
  TfSession::Fetches made_for(int64_t batch);

  const Graph& graph_;
  TfSettings settings_;
  TfGraph tf_graph_;
  TfScope scope_;
  TfConstants constants_;
  TfSession session_;  // goes before the graph
  std::map<int64_t, TfSession::Fetches> parts_;
};

}  // namespace deepgap
