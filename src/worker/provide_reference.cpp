#include "worker/provide_reference.h"

#include "base/option_values.h"
#include "worker/run_rules.h"
#include "worker/task_work.h"

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
  if (order.check) task_work(order.point).provide_reference(order, options, inputs, group.clock(order));
}

}  // namespace deepgap
