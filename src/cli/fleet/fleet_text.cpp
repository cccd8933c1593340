#include "cli/fleet/fleet_text.h"

#include "base/dump_json.h"
#include "base/text.h"
#include "base/words.h"
#include "record/point_command.h"
#include "run/text_table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace deepgap {
namespace {

using nlohmann::json;

std::string time_text(double seconds) { return format_duration(static_cast<int64_t>(seconds * 1e9)); }

// Costs of a task group. The price is found by the words of its node constraint: "h100" is a price of "NVIDIA H100". CPU groups have none.
struct TaskGroupCost {
  double hours = 0, amount = 0;
  bool known = false;
};
TaskGroupCost cost_of(const Fleet& fleet, const TaskGroup& task_group, const Prices& prices) {
  TaskGroupCost cost{task_group.seconds / 3600, 0, false};
  const std::string& kind = fleet.kinds.at(static_cast<size_t>(task_group.kind));
  const std::string name = fleet.device_kind.empty() ? kind : fleet.device_kind;
  for (const Price& price : prices.prices) {
    if (name.empty() || price.bought || !(names_match(price.name, name) || names_match(name, price.name))) continue;
    const double devices = price.of_machine ? 1 : std::max(task_group.gpus, 1);
    cost.amount = cost.hours * price.per_hour / price.devices * devices;
    cost.known = true;
    break;
  }
  return cost;
}

std::string kind_text(const Fleet& fleet, const TaskGroup& task_group) {
  const std::string& kind = fleet.kinds.at(static_cast<size_t>(task_group.kind));
  return kind.empty() ? "any node" : kind;
}

}  // namespace

std::string status_line(const Fleet& fleet, const FleetStatus& status) {
  std::string line = fmt::format("{} of {} tasks done", status.done, fleet.tasks.size());
  if (status.running > 0) line += fmt::format(", {} run", status.running);
  if (status.waiting > 0) line += fmt::format(", {} waiting", status.waiting);
  if (status.held > 0) line += fmt::format(", {} are held", status.held);
  if (!status.missing.empty()) line += fmt::format(", {} lost", status.missing.size());
  return line + fmt::format("; {} of {} records measured", std::min(status.records, fleet.records()), fleet.records());
}

std::string plan_text(const PlannedFleet& planned, const Prices& prices, size_t width) {
  const Fleet& fleet = planned.fleet;
  std::vector<TextColumn> columns{{"kind", false, {}},   {"model", false, {}},  {"device", false, {}},   {"tasks", true, {}},
                                  {"records", true, {}}, {"longest", true, {}}, {"node-hours", true, {}}};
  double amount = 0;
  bool all_known = true;
  for (const TaskGroup& task_group : fleet.task_groups) {
    int64_t records = 0;
    for (int i = 0; i < task_group.tasks; ++i)
      records += fleet.tasks[static_cast<size_t>(task_group.first_task) + static_cast<size_t>(i)].records;
    const TaskGroupCost cost = cost_of(fleet, task_group, prices);
    amount += cost.amount;
    all_known &= cost.known;
    const std::string cells[] = {kind_text(fleet, task_group),     task_group.model,        task_group.device,
                                 std::to_string(task_group.tasks), std::to_string(records), time_text(task_group.longest_s),
                                 fmt::format("{:.2f}", cost.hours)};
    for (size_t i = 0; i < columns.size(); ++i) columns[i].cells.push_back(cells[i]);
  }
  std::string text = fmt::format("{} points, {} records in {} tasks, {} CPUs each; about {:.2f} node-hours", planned.points,
                                 fleet.records(), fleet.tasks.size(), fleet.cpus, fleet.seconds() / 3600);
  if (!prices.prices.empty())
    text += all_known ? fmt::format(", {:.2f} {}", amount, prices.currency)
                      : fmt::format(", at least {:.2f} {} ({} has no price of some kinds)", amount, prices.currency, prices.label);
  text += "\n";
  if (planned.common > 0)
    text += fmt::format("{} of the records measure a point that every task repeats, to compare nodes (--common-runs 0: none)\n",
                        planned.common);
  return fitted_table(columns, width, {{"model", 20}, {"kind", 12}}) + wrapped_lines(text, width);
}

std::string plan_json(const PlannedFleet& planned, const Prices& prices) {
  const Fleet& fleet = planned.fleet;
  json task_groups = json::array();
  double amount = 0;
  for (const TaskGroup& task_group : fleet.task_groups) {
    const TaskGroupCost cost = cost_of(fleet, task_group, prices);
    amount += cost.amount;
    task_groups.push_back({{"kind", fleet.kinds[static_cast<size_t>(task_group.kind)]},
                           {"model", task_group.model},
                           {"device", task_group.device},
                           {"tasks", task_group.tasks},
                           {"longest_s", task_group.longest_s},
                           {"node_hours", cost.hours},
                           {"cost", cost.known ? json(cost.amount) : json()}});
  }
  json value{
      {"study", fleet.study},        {"points", planned.points},    {"records", fleet.records()},           {"common", planned.common},
      {"tasks", fleet.tasks.size()}, {"cpus_per_task", fleet.cpus}, {"node_hours", fleet.seconds() / 3600}, {"lots", task_groups}};
  if (!prices.prices.empty()) value.update({{"cost", amount}, {"currency", prices.currency}});
  return dump_indented(value);
}

std::string status_text(const Fleet& fleet, const FleetStatus& status, const std::vector<std::string>& notes) {
  constexpr size_t most_lines = 20;
  std::string text = status_line(fleet, status) + "\n";
  for (size_t i = 0; i < std::min(most_lines, status.lines.size()); ++i) text += "  " + printable(status.lines[i]) + "\n";
  if (status.lines.size() > most_lines) text += fmt::format("  and {} more\n", status.lines.size() - most_lines);
  for (const std::string& note : notes) text += "note: " + printable(note) + "\n";
  return text;
}

json status_value(const Fleet& fleet, const FleetStatus& status, const std::vector<std::string>& notes) {
  return {{"fleet", fleet.id},           {"folder", fleet.folder}, {"scheduler", fleet.scheduler},
          {"tasks", fleet.tasks.size()}, {"done", status.done},    {"running", status.running},
          {"waiting", status.waiting},   {"held", status.held},    {"missing", status.missing},
          {"lines", status.lines},       {"notes", notes}};
}

std::string status_json(const Fleet& fleet, const FleetStatus& status, const std::vector<std::string>& notes) {
  return dump_indented(status_value(fleet, status, notes));
}

std::string gathered_text(const Fleet& fleet, const FleetStatus& status, const Gathered& gathered, const std::string& store) {
  std::string text = fmt::format("{} of {} records are in {}", gathered.there, gathered.planned, store);
  if (gathered.merge.doubled > 0)
    text += fmt::format("; {} measured again elsewhere were left out, each named by the kept record (fact merge.left_out)",
                        gathered.merge.doubled);
  text += "\n";
  for (const std::string& note : gathered.notes) text += "note: " + printable(note) + "\n";
  if (gathered.there < gathered.planned) {
    text += status_text(fleet, status, {});
    text += fmt::format("next: deepgap fleet wait {}\n", shell_quoted(fleet.folder));
  } else {
    text += fmt::format("next: deepgap report {}\n", shell_quoted(store));
  }
  return text;
}

std::string gathered_json(const Fleet& fleet, const FleetStatus& status, const Gathered& gathered, const std::string& store) {
  json value = status_value(fleet, status, gathered.notes);
  value.update({{"store", store},
                {"planned", gathered.planned},
                {"records", gathered.there},
                {"same", gathered.merge.same},
                {"doubled", gathered.merge.doubled}});
  return dump_indented(value);
}

}  // namespace deepgap
