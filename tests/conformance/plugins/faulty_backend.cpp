// A plug-in that passes for another engine (its name is DEEPGAP_TEST_ENGINE) and answers two operators wrongly, for suite_test.py: Relu as
// Neg, and a Sigmoid ends the process.
#include "backends/native/native_backend.h"
#include "model/graph_tools.h"

#include <csignal>
#include <cstdlib>
#include <memory>
#include <vector>

namespace deepgap {
namespace {

class ChangedModel final : public Model {
 public:
  explicit ChangedModel(const Model& model) : model_(model), graph_(model.graph()) {
    for (Node& node : graph_.nodes) {
      if (node.op == "Relu") node.op = "Neg";
      if (node.op == "Sigmoid") std::raise(SIGSEGV);
    }
  }
  const std::string& name() const override { return model_.name(); }
  const Graph& graph() const override { return graph_; }
  const GraphSummary& summary() const override { return model_.summary(); }
  std::span<const std::byte> onnx() const override { return model_.onnx(); }
  const std::string& file() const override { return model_.file(); }

 private:
  const Model& model_;
  Graph graph_;
};

class FaultyBackend final : public NativeBackend {
 public:
  std::string name() const override { return std::getenv("DEEPGAP_TEST_ENGINE"); }
  Support supports(const EngineRequest& request, const GraphSummary& graph) const override {
    if (request.precision != Precision::fp32) return {false, "FP32 alone"};
    return NativeBackend::supports(request, graph);
  }
  std::unique_ptr<Session> load(const Model& model, const LoadOptions& options) override {
    return NativeBackend::load(*changed_.emplace_back(std::make_unique<ChangedModel>(model)), options);
  }

 private:
  std::vector<std::unique_ptr<ChangedModel>> changed_;  // Sessions refer to them
};

}  // namespace
}  // namespace deepgap

DEEPGAP_BACKEND(deepgap::FaultyBackend);
