// Task: what is done with a model. It is text at the edges alone: command line, Study files, JSON, Stores. src/record/task_traits.h says
// what results of a task are, src/worker/task_work.h how a worker does it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace deepgap {

// In the order of their names, so that Points sort as they are read. train: forward, loss, backward and update. generate: tokens.
enum class Task : uint8_t { generate, infer, train };

inline constexpr std::array all_tasks{Task::infer, Task::train, Task::generate};  // as they are listed for people

constexpr std::string_view name_of(Task task) {
  constexpr std::string_view names[] = {"generate", "infer", "train"};
  return names[static_cast<size_t>(task)];
}

// Returns nullopt if no task has that name.
constexpr std::optional<Task> task_from(std::string_view name) {
  for (const Task task : all_tasks)
    if (name_of(task) == name) return task;
  return std::nullopt;
}

}  // namespace deepgap
