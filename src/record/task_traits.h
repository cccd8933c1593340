// What the results of a task are, for modules that know a Point alone: a row for each task. How a worker does a task is in
// worker/task_work.h.
#pragma once

#include <deepgap/point.h>

#include <string>
#include <utility>
#include <vector>

namespace deepgap {

// How much work a Point does in a second, as a table or a sentence states it first.
struct WorkRate {
  const char* metric;
  const char* unit;
};

struct TaskTraits {
  std::string unit;  // unit of work that one Timing measures; empty: the scenario's
  WorkRate rate;     // tokens where the task is to generate them, because answers differ in length; else items
  std::vector<std::pair<const char*, const char*>> times;  // metrics, with their names in a line: "p50"
  const char* energy;                                      // metric of the energy for one item or token
  const char* cost;                                        // metric of the money for many of them
  bool takes_turns = false;                                // several engines can answer its queries in alternating time slices
  bool tokens = false;                                     // its samples are prompts, and answers come in tokens
  bool own_work = false;                                   // its work is no queries: a class of its own does it (worker/task_work.h)
};

inline const TaskTraits& task_traits(Task task) {
  static const WorkRate items{"throughput", "items/s"}, tokens{"output_tokens_per_s", "tokens/s"};
  static const decltype(TaskTraits::times) latency{{"latency_p50_ms", "p50"}}, of_tokens{{"ttft_p50_ms", "TTFT"}, {"tpot_ms", "TPOT"}};
  static const TaskTraits generate{"", tokens, of_tokens, "energy_j_per_token", "cost_per_million_output_tokens", false, true};
  static const TaskTraits infer{"", items, latency, "energy_j_per_item", "cost_per_1000_items", true};
  static const TaskTraits train{"step", items, latency, "energy_j_per_item", "cost_per_1000_items", false, false, true};
  return task == Task::generate ? generate : task == Task::train ? train : infer;
}

inline const WorkRate& work_rate(const Point& point) { return task_traits(point.task).rate; }

}  // namespace deepgap
