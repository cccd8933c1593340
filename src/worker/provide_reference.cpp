#include "worker/provide_reference.h"

#include "base/option_values.h"
#include "worker/mlperf_run.h"
#include "worker/reference.h"
#include "worker/train_check.h"

#include <algorithm>

namespace deepgap {

void provide_reference(const WorkOrder& order, Group& group, Heartbeat& heartbeat) {
  heartbeat.enter("reference");
  const auto scenario = scenario_of(order.point);
  // The engine that is to be checked is not opened here, so its options are not known; the reference needs only ours.
  Point own = order.point;
  std::erase_if(own.options, [](const auto& option) { return find_option(worker_options(), option.first) == nullptr; });
  const PointOptions options = sort_options(own, {}, scenario->options());
  const Group::Inputs inputs = group.inputs(order, options);
  if (inputs.engine_model == nullptr) group.quantize(order, options);
  if (!order.check) return;
  if (trains(order.point)) return provide_train_reference(order, options, inputs, group.clock(order));
  const std::string key = reference_key(*inputs.model, *inputs.dataset, inputs.samples);
  const std::string& checked = order.point.backend;
  const auto kept = find_reference(order.cache_dir, key, checked);
  if (kept && kept->outputs.size() == referenced_queries(batching_of(inputs.model->summary().inputs), inputs.samples.size())) return;
  keep_reference(order.cache_dir, key, make_reference(*inputs.model, *inputs.dataset, inputs.samples, checked));
}

}  // namespace deepgap
