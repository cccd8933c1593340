#include "worker/check_sessions.h"

#include "record/duel_set.h"
#include "worker/check.h"
#include "worker/first_result.h"
#include "worker/node_verdict.h"
#include "worker/quantized_model.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace deepgap {
namespace {

class Checking {
 public:
  Checking(const WorkOrder& order, const Preparation& prepared, const Group::Inputs& inputs, const Reference& reference, Group& group)
      : order_(order), prepared_(prepared), inputs_(inputs), reference_(reference), group_(group) {}

  // Adds what this Session answered. `where` stands before the words of a wrong result.
  void add(const Instances::Instance& instance, const std::string& where, SessionsCheck& found) const {
    std::optional<CheckResult> result;
    try {
      result = compare(instance);
    } catch (const Error& error) {  // another type or shape is a wrong result
      found.wrong = fmt::format("{}wrong result: {}", where, error.what());
      return;
    }
    if (!result) {
      found.unchecked = true;
      found.facts["check"] = std::string("no output has the batch as its first dimension");
      return;
    }
    const Point& point = order_.point;
    if (!result->pass && is_judged_by_nodes(point)) {
      NodeVerdict verdict = judge_by_nodes(point, instance.device, prepared_.options, order_.cache_dir, group_, *result);
      found.facts["check"] = std::move(verdict.words);
      result = std::move(verdict.result);
    }
    if (!found.check || result->sqnr_db < found.check->sqnr_db) found.check = result;
    if (result->pass) return;
    found.wrong =
        fmt::format("{}outputs differ from the {}: SQNR {:.1f} dB, {} asks for {:.0f} dB (largest error {:.3g})", where, result->against,
                    result->sqnr_db, name_of(point.precision), min_sqnr_db(point.precision), result->max_abs_error);
  }

 private:
  std::optional<CheckResult> compare(const Instances::Instance& instance) const {
    const GraphSummary& summary = inputs_.model->summary();
    return compare_batch(reference_, instance.session->outputs(0), largest_batch(order_.point, prepared_.options.dispatch),
                         batching_of(summary.inputs), judged_precision(order_.point.precision, summary));
  }

  const WorkOrder& order_;
  const Preparation& prepared_;
  const Group::Inputs& inputs_;
  const Reference& reference_;
  Group& group_;
};

}  // namespace

SessionsCheck check_sessions(LoadedOrder& loaded, const WorkOrder& order, const Preparation& prepared, const Group::Inputs& inputs,
                             const Reference* reference, Group& group, Pulse& pulse, const std::atomic<bool>& interrupted) {
  SessionsCheck found;
  const int64_t batch = largest_batch(order.point, prepared.options.dispatch);
  const auto& instances = loaded.instances().all();
  for (const Instances::Instance& instance : instances) {
    const double ms = first_result_ms(loaded.alone(instance), group.clock(order), inputs.samples, batch, interrupted);
    loaded.let_go();
    pulse.beat();
    if (prepared.computes && contender_place(order.point) && found.answers.outputs.empty())
      found.answers = sketch_of(instance.session->outputs(0), batch);
    found.first_result_ms = std::max(ms, found.first_result_ms.value_or(0));
    const std::string where = instances.size() > 1 ? instance.name + ": " : "";
    if (reference != nullptr && !interrupted.load()) Checking(order, prepared, inputs, *reference, group).add(instance, where, found);
    if (!found.wrong.empty() || interrupted.load()) break;
  }
  return found;
}

}  // namespace deepgap
