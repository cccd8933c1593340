#include "backends/native/query_runner.h"
#include "model/eval/evaluator.h"

#include <deepgap/error.h>

#include <array>
#include <map>

namespace deepgap {
namespace {

class EvaluatorRunner : public QueryRunner {
 public:
  EvaluatorRunner(const Graph& graph, BatchIo& io) : graph_(graph), io_(io) {}

  TeamScope team() const override { return {1, {}}; }  // the evaluator has threads of its own

  void prepare(int slot, std::span<const uint32_t> samples) override {
    if (samples.empty()) throw Error(ErrorKind::refused, "native: no sample was enqueued");
    io_.gather(slot, samples, static_cast<int64_t>(samples.size()));
  }

  void compute(int slot, std::span<const uint32_t> samples) override {
    io_.keep_tensors(slot, evaluate(graph_, io_.input_tensors(slot, static_cast<int64_t>(samples.size()))));
  }

  std::vector<LayerTiming> layer_timings(const std::function<Nanoseconds()>& now) override {
    io_.gather(0, std::array<uint32_t, 1>{0}, 1);
    std::vector<LayerTiming> timings;
    std::map<ValueId, const Node*> maker;
    for (const auto& node : graph_.nodes) maker.emplace(node.outputs.at(0), &node);
    Nanoseconds before = now();
    evaluate(graph_, io_.input_tensors(0, 1), [&](ValueId id, const Tensor&) {
      const auto it = maker.find(id);
      const Nanoseconds after = now();
      if (it != maker.end()) timings.push_back({it->second->name, it->second->op, after - before});
      before = after;
    });
    return timings;
  }

 private:
  const Graph& graph_;
  BatchIo& io_;
};

}  // namespace

QueryRunners make_evaluator_runners(const Model& model, int streams, BatchIo& io) {
  QueryRunners runners;
  for (int i = 0; i < streams; ++i) runners.each.push_back(std::make_unique<EvaluatorRunner>(model.graph(), io));
  return runners;
}

}  // namespace deepgap
