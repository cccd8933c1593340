// Checks once for each Point, before anything else, whether a backend has Sessions for its task, and the Model is for it.
#pragma once

#include "base/text.h"
#include "model/decoder/decoder.h"

#include <deepgap/backend.h>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace deepgap {

inline Support task_support(const Backend& backend, const std::string& task, const GraphSummary& graph) {
  const std::vector<std::string> tasks = backend.tasks();
  if (std::find(tasks.begin(), tasks.end(), task) == tasks.end())
    return {false, fmt::format("{} does not do task {}, only {}", backend.name(), task, join(tasks, " and "))};
  if (task != "generate" && is_decoder(graph)) return {false, "a decoder generates tokens: measure it with deepgap run --task generate"};
  return {};
}

}  // namespace deepgap
