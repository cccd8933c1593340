#include "worker/expected.h"

#include "model/random_numbers.h"
#include "model/train_work.h"
#include "record/point_option.h"
#include "worker/check.h"
#include "worker/reference.h"
#include "worker/train_options.h"

#include <fmt/format.h>

#include <utility>

namespace deepgap {

Expected expected_of(const WorkOrder& order, const Preparation& prepared, const Group::Inputs& inputs) {
  const auto unchecked = [](std::string why) { return Expected{.none = std::move(why), .unchecked = true}; };
  if (generates(order.point)) return {.none = "not checked: answers of task generate have no reference"};
  if (!prepared.computes) return {.none = fmt::format("not needed: {} computes nothing", order.point.backend)};
  if (!order.check) return unchecked("off");
  if (is_remote(order.point.placement) && option_of(order.point, "reference").empty())
    return unchecked("no reference: --reference FILE.onnx names the server's model");
  if (!order.reference_unavailable.empty()) return unchecked("no reference: " + order.reference_unavailable);
  if (trains(order.point)) {
    if (const std::string none = no_train_reference(order.point, inputs.model->graph()); !none.empty()) return unchecked(none);
    return {.training = find_train_reference(order.cache_dir, train_reference_key(order, prepared.options, inputs))};
  }
  if (const std::string node = random_node(inputs.model->graph()); !node.empty()) return unchecked(random_words(node));
  const std::string key = reference_key(*inputs.model, *inputs.dataset, inputs.samples);
  Expected found{.reference = find_reference(order.cache_dir, key, order.point.backend)};
  const size_t wanted = referenced_queries(batching_of(inputs.model->summary().inputs), inputs.samples.size());
  if (found.reference && found.reference->outputs.size() != wanted) found.reference.reset();
  return found;
}

SessionsCheck hold_against(const Expected& expected, LoadedOrder& loaded, const OrderContext& context) {
  if (!trains(context.order.point)) return check_sessions(loaded, context, expected.reference ? &*expected.reference : nullptr);
  return check_training(loaded.instances().all().front(), context, expected.training ? &*expected.training : nullptr);
}

ItemWork item_work(const Point& point, const Model& model, const PointOptions& options) {
  const GraphSummary& summary = model.summary();
  if (!trains(point)) return {summary.macs_per_item, summary.flop_per_item, summary.bytes_per_item};
  const TrainWork work = train_work(model.graph(), options.train);
  return {work.macs_per_item, work.flop_per_item(point.batch), work.bytes_per_item(point.batch)};
}

}  // namespace deepgap
