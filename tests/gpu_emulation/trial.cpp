#include "trial.h"

#include "engine/gpu/fusion.h"
#include "model/eval/evaluator.h"
#include "model/graph_tools.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>

namespace deepgap::gpu {
namespace {

using namespace deepgap::conformance;

// The suite's judgement asks which backend it is.
class Emulated final : public Backend {
 public:
  std::string name() const override { return "native"; }
  std::string version() const override { return {}; }
  ModelForm form() const override { return ModelForm::graph; }
  std::vector<DeviceInfo> devices() const override { return {}; }
  std::vector<OptionInfo> options() const override { return {}; }
  Support supports(const EngineRequest& /*request*/, const GraphSummary& /*graph*/) const override { return {}; }
  std::unique_ptr<Session> load(const Model& /*model*/, const LoadOptions& /*options*/) override { return nullptr; }
};

// Attention's kernel, which the host cannot compile.
bool uses_tensor_cores(const GpuPlan& plan) {
  for (const Step& step : plan.steps)
    for (const Launch& launch : step.launches)
      if (launch.source.find("mma.sync") != std::string::npos) return true;
  return false;
}

std::vector<uint32_t> whole_batch() {
  std::vector<uint32_t> all(Trial::batch);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

}  // namespace

Graph bound_for_trial(const Graph& graph, Integers integers, Element stored) {
  Graph optimized = graph;
  const FusionRules rules = gpu_fusion_rules(integers, stored);
  optimize_unbound(optimized, rules);
  return bound_graph(optimized, Trial::batch, rules);
}

Trial::Trial(const LoweringSettings& settings, std::string precision) : settings_(settings), precision_(std::move(precision)) {
  static Emulated backend;
  set_backend(&backend);
}

void Trial::add(const std::string& name, Graph graph, Samples samples) {
  Tried tried{.name = name, .graph = std::move(graph), .samples = std::move(samples)};
  try {
    const Graph ready = bound_for_trial(tried.graph, settings_.integers, settings_.numbers.stored);
    for (ValueId id : ready.outputs) {
      tried.shapes.push_back(known_shape(ready, id));
      tried.types.push_back(ready.values[static_cast<size_t>(id)].type);
    }
    GpuPlan plan = Lowering(ready, settings_.numbers, Chip{}).lower();
    if (uses_tensor_cores(plan)) return;
    tried.plan = emulator_.add(std::move(plan));
  } catch (const Error& error) {
    EXPECT_NE(error.kind(), ErrorKind::internal) << name << ": " << error.what();
    refusals_[name] = error.what();
    return;
  }
  all_.push_back(std::move(tried));
}

void Trial::expect_right(const Tried& tried, const Judge& judge) const {
  SCOPED_TRACE(fmt::format("{} {}: {}", tried.name, precision_, describe(tried.graph).substr(0, 300)));
  const auto all = whole_batch();
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < tried.graph.inputs.size(); ++i) inputs.push_back(joined_samples(tried.samples, all, i));
  const std::vector<Tensor> actual = emulator_.run(tried.plan, inputs, tried.shapes, tried.types);
  std::vector<TensorView> views;
  for (const Tensor& tensor : actual) views.push_back(tensor.view());
  EXPECT_EQ(judge(reference(tried.graph, tried.samples, all), views).words, "");
}

void Trial::run(const Judge& judge) {
  emulator_.compile();
  for (const Tried& tried : all_) expect_right(tried, judge);
  fmt::print("{}: {} computed, {} refused\n", precision_, all_.size(), refusals_.size());
  for (const auto& [name, why] : refusals_) fmt::print("  {}: {}\n", name, why);
}

}  // namespace deepgap::gpu
