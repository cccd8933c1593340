#include "worker/kept_sessions.h"

#include "base/dump_json.h"
#include "record/duel_set.h"
#include "record/identity.h"
#include "record/point_option.h"
#include "record/tenant_set.h"
#include "worker/run_rules.h"

#include <nlohmann/json.hpp>

namespace deepgap {
namespace {

bool are_for_it_alone(const OrderContext& context) {
  const WorkOrder& order = context.order;
  const Point& point = order.point;
  const bool has_company = order.ranks > 1 || order.interleaved || tenant_place(point) || contender_place(point);
  return has_company || !context.prepared.computes || point.task != Task::infer || is_remote(point.placement) ||
         rules_of(point) != nullptr || context.prepared.options.end_to_end.on();
}

}  // namespace

std::string sessions_key(const OrderContext& context, const LoadOptions& load) {
  if (are_for_it_alone(context)) return {};
  const WorkOrder& order = context.order;
  const DispatchOptions& dispatch = context.prepared.options.dispatch;
  nlohmann::json sessions = nlohmann::json::array();
  for (const InstanceLoad& one : instance_loads(order.point, dispatch))
    sessions.push_back({one.name, one.threads, one.share, sample_layout(order.point, one.device, load)});
  const nlohmann::json key = {load.batch_sizes,
                              load.slots,
                              load.inputs,
                              load.samples_change,
                              load.options,
                              needs_dispatcher(order.point),
                              largest_batch(order.point, dispatch),
                              sessions,
                              order.check,
                              order.reference_unavailable};
  return dump_line(key);
}

}  // namespace deepgap
