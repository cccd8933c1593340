// deepgap's Graph as operations of one TensorFlow graph: a part for each batch size, which share the constants.
#pragma once

#include "backends/tensorflow/tf_network.h"
#include "backends/tensorflow/tf_values.h"

#include <map>
#include <string>

namespace deepgap {

// Makes the operations of a Graph at this batch size.
TfSession::Fetches make_tf_part(const Graph& graph, int64_t batch, TfScope& scope, TfConstants& constants);

class TfProgram final : public TfNetwork {
 public:
  // The Graph outlives the program.
  TfProgram(const Graph& graph, const TfSettings& settings);

  void prepare(int64_t batch) override;
  std::vector<TfTensor> run(int64_t batch, std::span<const TfTensor> inputs) override;
  std::vector<LayerTiming> layer_timings(int64_t batch, std::span<const TfTensor> inputs) override;
  PrecisionShares precision_shares(const Model& model, int64_t batch, std::span<const TfTensor> inputs) override;

 private:
  const Graph& graph_;
  TfSettings settings_;
  TfGraph tf_graph_;
  TfScope scope_;
  TfConstants constants_;
  TfSession session_;  // goes before the graph
  std::map<int64_t, TfSession::Fetches> parts_;
};

}  // namespace deepgap
