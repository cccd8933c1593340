#include "worker/expected.h"

#include "model/random_numbers.h"
#include "model/train_work.h"
#include "record/point_option.h"
#include "worker/check.h"
#include "worker/reference.h"
#include "worker/train_options.h"

#include <fmt/format.h>

namespace deepgap {

Expected expected_of(const WorkOrder& order, const Preparation& prepared, const Group::Inputs& inputs) {
  if (generates(order.point)) return {{}, "not checked: answers of task generate have no reference", false, {}};
  if (!prepared.computes) return {{}, fmt::format("not needed: {} computes nothing", order.point.backend), false, {}};
  if (!order.check) return {{}, "off", true, {}};
  if (is_remote(order.point.placement) && option_of(order.point, "reference").empty())
    return {{}, "no reference: --reference FILE.onnx names the server's model", true, {}};
  if (!order.reference_unavailable.empty()) return {{}, "no reference: " + order.reference_unavailable, true, {}};
  if (trains(order.point))
    if (const std::string none = no_train_reference(order.point, inputs.model->graph()); !none.empty()) return {{}, none, true, {}};
  if (trains(order.point))
    return {{}, "", false, find_train_reference(order.cache_dir, train_reference_key(order, prepared.options, inputs))};
  if (const std::string node = random_node(inputs.model->graph()); !node.empty()) return {{}, random_words(node), true, {}};
  const std::string key = reference_key(*inputs.model, *inputs.dataset, inputs.samples);
  Expected found{find_reference(order.cache_dir, key, order.point.backend), "", false, {}};
  const size_t wanted = referenced_queries(batching_of(inputs.model->summary().inputs), inputs.samples.size());
  if (found.reference && found.reference->outputs.size() != wanted) found.reference.reset();
  return found;
}

SessionsCheck hold_against(const Expected& expected, LoadedOrder& loaded, const WorkOrder& order, const Preparation& prepared,
                           const Group::Inputs& inputs, Group& group, Pulse& pulse, const std::atomic<bool>& interrupted) {
  const Reference* reference = expected.reference ? &*expected.reference : nullptr;
  if (!trains(order.point)) return check_sessions(loaded, order, prepared, inputs, reference, group, pulse, interrupted);
  return check_training(loaded.instances().all().front(), order, prepared.options, inputs,
                        expected.training ? &*expected.training : nullptr, group.clock(order), pulse, interrupted);
}

ItemWork item_work(const Point& point, const Model& model, const PointOptions& options) {
  const GraphSummary& summary = model.summary();
  if (!trains(point)) return {summary.macs_per_item, summary.flop_per_item, summary.bytes_per_item};
  const TrainWork work = train_work(model.graph(), options.train);
  return {work.macs_per_item, work.flop_per_item(point.batch), work.bytes_per_item(point.batch)};
}

}  // namespace deepgap
