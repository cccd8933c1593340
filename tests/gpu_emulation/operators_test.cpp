// Every operator of the conformance suite, lowered for a GPU and computed by the emulator, against the plain evaluator.
#include "emulator.h"

#include "../conformance/operator_cases.h"
#include "../conformance/rig.h"
#include "../conformance/tolerance.h"

#include "base/temporary_folder.h"
#include "engine/gpu/lowering.h"
#include "engine/passes/passes.h"
#include "model/eval/evaluator.h"
#include "model/graph_tools.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>

namespace deepgap::gpu {
namespace {

using namespace deepgap::conformance;

constexpr int64_t batch = 3;

// The suite's judgement asks which backend it is.
class Emulated final : public Backend {
 public:
  std::string name() const override { return "native"; }
  std::string version() const override { return {}; }
  ModelForm form() const override { return ModelForm::graph; }
  std::vector<DeviceInfo> devices() const override { return {}; }
  std::vector<OptionInfo> options() const override { return {}; }
  Support supports(const Point& /*point*/, const GraphSummary& /*graph*/) const override { return {}; }
  std::unique_ptr<Session> load(const Model& /*model*/, const LoadOptions& /*options*/) override { return nullptr; }
};

struct Tried {
  std::string op;
  Graph graph;
  Samples samples;
  size_t plan = 0;
  std::vector<Shape> shapes;
  std::vector<DataType> types;
};

Graph bound(const Graph& graph) {
  Graph optimized = graph;
  optimize_unbound(optimized);
  optimized = bind_symbols(optimized, {{batch_symbol, batch}});
  optimize_bound(optimized);
  return optimized;
}

// Attention's kernel, which the host cannot compile.
bool uses_tensor_cores(const GpuPlan& plan) {
  for (const Step& step : plan.steps)
    for (const Launch& launch : step.launches)
      if (launch.source.find("mma.sync") != std::string::npos) return true;
  return false;
}

// nullopt where it is refused, which `refusals` counts by operator.
std::optional<Tried> lowered(Emulator& emulator, const OperatorCase& one, int round, const GpuNumbers& numbers,
                             std::map<std::string, std::string>& refusals) {
  Random random(seed_of(one.op, round));
  GraphBuilder net(random, one.opset);
  Tried tried{.op = one.op, .graph = one.build(net)};
  tried.samples = random_samples(random, tried.graph, batch);
  try {
    const Graph graph = bound(tried.graph);
    for (ValueId id : graph.outputs) {
      tried.shapes.push_back(known_shape(graph, id));
      tried.types.push_back(graph.values[static_cast<size_t>(id)].type);
    }
    GpuPlan plan = Lowering(graph, numbers, Chip{}).lower();
    if (uses_tensor_cores(plan)) return std::nullopt;
    tried.plan = emulator.add(std::move(plan));
  } catch (const Error& error) {
    refusals[one.op] = error.what();
    return std::nullopt;
  }
  return tried;
}

void expect_right(const Emulator& emulator, const Tried& tried, const std::string& precision) {
  SCOPED_TRACE(fmt::format("{} {}: {}", tried.op, precision, describe(tried.graph)));
  std::vector<uint32_t> all(batch);
  for (uint32_t i = 0; i < batch; ++i) all[i] = i;
  const std::vector<Tensor> expected = reference(tried.graph, tried.samples, all);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < tried.graph.inputs.size(); ++i) {
    inputs.push_back(joined_samples(tried.samples, all, i));
  }
  const std::vector<Tensor> actual = emulator.run(tried.plan, inputs, tried.shapes, tried.types);
  std::vector<TensorView> views;
  for (const Tensor& tensor : actual) views.push_back(tensor.view());
  EXPECT_EQ(difference(expected, views, precision), "");
}

// All of them when long tests are asked for, else every tenth: the host's compiler takes a second for some twenty. DEEPGAP_EMULATE=WORD:
// those whose name has the word.
std::vector<OperatorCase> chosen_cases() {
  const char* word = std::getenv("DEEPGAP_EMULATE");
  const bool all = std::getenv("DEEPGAP_LONG_TESTS") != nullptr;
  std::vector<OperatorCase> chosen;
  const auto cases = operator_cases();
  for (size_t i = 0; i < cases.size(); ++i)
    if (word != nullptr ? cases[i].op.find(word) != std::string::npos : all || i % 10 == 0) chosen.push_back(cases[i]);
  return chosen;
}

// `share`: of the cases, that must not be refused.
void try_all(const GpuNumbers& numbers, const std::string& precision, double share) {
  Emulated backend;
  set_backend(&backend);
  const TemporaryFolder folder;
  Emulator emulator(folder.path());
  std::map<std::string, std::string> refusals;
  std::vector<Tried> all;
  const auto cases = chosen_cases();
  for (const OperatorCase& one : cases) {
    if (auto tried = lowered(emulator, one, 0, numbers, refusals)) all.push_back(std::move(*tried));
  }
  emulator.compile();
  for (const Tried& tried : all) expect_right(emulator, tried, precision);
  fmt::print("{}: {} cases computed, {} refused\n", precision, all.size(), refusals.size());
  for (const auto& [op, why] : refusals) fmt::print("  {}: {}\n", op, why);
  EXPECT_GE(static_cast<double>(all.size()), share * static_cast<double>(cases.size()));
}

TEST(EmulatedOperators, Float32) { try_all({Compute::f32, Element::f32}, "fp32", 0.8); }
TEST(EmulatedOperators, Float16) { try_all({Compute::f16, Element::f16}, "fp16", 0.8); }

}  // namespace
}  // namespace deepgap::gpu
