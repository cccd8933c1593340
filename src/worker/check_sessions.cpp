#include "worker/check_sessions.h"

#include "model/random_numbers.h"
#include "record/duel_set.h"
#include "worker/check.h"
#include "worker/first_result.h"
#include "worker/node_verdict.h"
#include "worker/quantized_model.h"
#include "worker/saturation_note.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace deepgap {
namespace {

class Checking {
 public:
  Checking(const OrderContext& context, const Reference& reference) : context_(context), reference_(reference) {}

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
    const Point& point = context_.order.point;
    std::string wrong;
    if (!result->pass && is_judged_by_nodes(point)) {
      NodeVerdict verdict =
          judge_by_nodes(point, instance.device, context_.prepared.options, context_.order.cache_dir, context_.group, *result);
      found.facts["check"] = std::move(verdict.words);
      result = std::move(verdict.result);
      wrong = std::move(verdict.wrong);
    }
    if (!result->pass && !reference_.overflow.empty()) {
      found.unchecked = true;
      found.facts["check"] = overflow_words(reference_.overflow);
      return;
    }
    if (!found.check || result->sqnr_db < found.check->sqnr_db) found.check = result;
    if (result->pass) return;
    const Precision judged = judged_precision(point.precision, *context_.inputs.model);
    if (wrong.empty()) wrong = mismatch_words(*result, judged);
    found.wrong = where + wrong + saturation_note(point.backend, instance.device, judged);
  }

 private:
  std::optional<CheckResult> compare(const Instances::Instance& instance) const {
    const Model& model = *context_.inputs.model;
    const Point& point = context_.order.point;
    return compare_batch(reference_, instance.session->outputs(0), largest_batch(point, context_.prepared.options.dispatch),
                         batching_of(model.summary().inputs), judged_precision(point.precision, model));
  }

  const OrderContext& context_;
  const Reference& reference_;
};

// An engine that answers a query with an error has not died: it does not do what it was given. A server may do it another time.
double first_answer_ms(Target& target, const OrderContext& context, int64_t batch) {
  try {
    return first_result_ms(target, context.clock, context.inputs.samples, batch, context.interrupted);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::internal || is_remote(context.order.point.placement)) throw;
    throw Error(ErrorKind::refused, error.what());
  }
}

// Throws if all outputs are empty, since the time of such a query says nothing.
void require_content(std::span<const TensorView> outputs) {
  const auto is_empty = [](const TensorView& output) { return element_count(output.shape) == 0; };
  if (outputs.empty() || !std::all_of(outputs.begin(), outputs.end(), is_empty)) return;
  throw Error(ErrorKind::refused,
              "all outputs are empty, so that nothing is measured: give other sizes with --shape, or samples with --dataset or --input");
}

}  // namespace

SessionsCheck check_sessions(LoadedOrder& loaded, const OrderContext& context, const Reference* reference) {
  SessionsCheck found;
  const WorkOrder& order = context.order;
  const Preparation& prepared = context.prepared;
  const Model& model = *context.inputs.model;
  const std::atomic<bool>& interrupted = context.interrupted;
  const int64_t batch = largest_batch(order.point, prepared.options.dispatch);
  const auto& instances = loaded.instances().all();
  for (const Instances::Instance& instance : instances) {
    const double ms = first_answer_ms(loaded.alone(instance), context, batch);
    if (prepared.computes && !interrupted.load()) require_content(instance.session->outputs(0));
    loaded.let_go();
    context.heartbeat.beat();
    if (prepared.computes && contender_place(order.point) && found.answers.outputs.empty() && random_node(model.graph()).empty()) {
      found.answers = sketch_of(instance.session->outputs(0), batch);
      found.answers.min_sqnr_db = min_sqnr_db(judged_precision(order.point.precision, model));
    }
    found.first_result_ms = std::max(ms, found.first_result_ms.value_or(0));
    const std::string where = instances.size() > 1 ? instance.name + ": " : "";
    if (reference != nullptr && !interrupted.load()) Checking(context, *reference).add(instance, where, found);
    if (!found.wrong.empty() || interrupted.load()) break;
  }
  return found;
}

}  // namespace deepgap
