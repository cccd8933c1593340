#include "worker/task_work.h"

#include "base/registry.h"
#include "base/text.h"
#include "model/decoder/decoder.h"
#include "model/random_numbers.h"
#include "record/point_option.h"
#include "record/task_traits.h"
#include "worker/check.h"
#include "worker/reference.h"
#include "worker/scenario_driver.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace deepgap {
namespace {

// Returns the outputs that the cache has, if they are as many as the Model's queries have.
std::optional<Reference> cached_reference(const std::string& key, const WorkOrder& order, const Group::Inputs& inputs) {
  auto found = find_reference(order.cache_dir, key, order.point.backend);
  const size_t wanted = referenced_queries(batching_of(inputs.model->summary().inputs), inputs.samples.size());
  if (found && found->outputs.size() != wanted) found.reset();
  return found;
}

}  // namespace

void TaskWork::set_defaults(const Point& point, PointOptions& options) const {
  if (task_traits(point.task).tokens) options.samples = usual_prompts;
}

std::unique_ptr<WorkloadDriver> TaskWork::driver(const WorkOrder& order, const Preparation& prepared) const {
  return make_scenario_driver(order.point, prepared.options, prepared.stopping);
}

Expected TaskWork::expected(const OrderContext& context) const {
  const Group::Inputs& inputs = context.inputs;
  if (const std::string node = random_node(inputs.model->graph()); !node.empty()) return {.none = random_words(node), .unchecked = true};
  return {.reference = cached_reference(reference_key(*inputs.model, *inputs.dataset, inputs.samples), context.order, inputs)};
}

void TaskWork::provide_reference(const WorkOrder& order, const PointOptions& /*options*/, const Group::Inputs& inputs,
                                 Clock& /*clock*/) const {
  const std::string key = reference_key(*inputs.model, *inputs.dataset, inputs.samples);
  if (!cached_reference(key, order, inputs))
    keep_reference(order.cache_dir, key, make_reference(*inputs.model, *inputs.dataset, inputs.samples, order.point.backend));
}

SessionsCheck TaskWork::check(const Expected& expected, LoadedOrder& loaded, const OrderContext& context) const {
  return check_sessions(loaded, context, expected.reference ? &*expected.reference : nullptr);
}

void TaskWork::note_work(Record& record, const Model& model, const PointOptions& /*options*/) const {
  record.macs_per_item = model.summary().macs_per_item;
  record.flop_per_item = model.summary().flop_per_item;
  record.bytes_per_item = model.summary().bytes_per_item;
}

LayerProfile TaskWork::profile(const Point& /*point*/, const PointOptions& /*options*/, const ProfileRequest& request) const {
  return profile_layers(request);
}

const std::map<std::string, std::unique_ptr<TaskWork>>& own_works() {
  static const std::map<std::string, std::unique_ptr<TaskWork>> works = [] {
    std::map<std::string, std::unique_ptr<TaskWork>> made;
    const auto& registry = Registry<TaskWork>::instance();
    for (const std::string& name : registry.names()) made.emplace(name, registry.make("task", name));
    return made;
  }();
  return works;
}

const TaskWork& task_work(const Point& point) {
  static const TaskWork queries;
  if (!task_traits(point.task).own_work) return queries;
  const auto found = own_works().find(std::string(name_of(point.task)));
  if (found == own_works().end()) throw Error(ErrorKind::usage, fmt::format("this deepgap was built without task {}", name_of(point.task)));
  return *found->second;
}

Support task_support(const Backend& backend, Task task, const GraphSummary& graph) {
  const std::vector<Task> tasks = backend.tasks();
  if (std::find(tasks.begin(), tasks.end(), task) == tasks.end()) {
    std::vector<std::string> names;
    for (const Task one : tasks) names.emplace_back(name_of(one));
    return {false, fmt::format("{} does not do task {}, only {}", backend.name(), name_of(task), join(names, " and "))};
  }
  if (task_traits(task).tokens || !is_decoder(graph)) return {};
  return {false, "a decoder generates tokens: measure it with deepgap run --task generate"};
}

Expected expected_of(const OrderContext& context) {
  const WorkOrder& order = context.order;
  const Point& point = order.point;
  const auto unchecked = [](std::string why) { return Expected{.none = std::move(why), .unchecked = true}; };
  if (task_traits(point.task).tokens)
    return {.none = fmt::format("not checked: answers of task {} have no reference", name_of(point.task))};
  if (!context.prepared.computes) return {.none = fmt::format("not needed: {} computes nothing", point.backend)};
  if (!order.check) return unchecked("off");
  if (is_remote(point.placement) && option_of(point, "reference").empty())
    return unchecked("no reference: --reference FILE.onnx names the server's model");
  if (!order.reference_unavailable.empty()) return unchecked("no reference: " + order.reference_unavailable);
  return task_work(point).expected(context);
}

}  // namespace deepgap
