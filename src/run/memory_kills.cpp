#include "run/memory_kills.h"

#include "base/file.h"
#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <optional>
#include <vector>

namespace deepgap {
namespace {

std::optional<std::string> text_of(const std::string& path) {
  try {
    return read_text(path);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// "oom_kill 3" among the lines.
std::optional<int64_t> field(const std::optional<std::string>& text, const std::string& name) {
  if (!text) return std::nullopt;
  for (const std::string& line : split(*text, '\n')) {
    if (line.starts_with(name + " ")) return parse_int(trim(line.substr(name.size())));
  }
  return std::nullopt;
}

}  // namespace

MemoryKills memory_kills(const std::string& root) {
  const std::string base = root.ends_with('/') ? root : root + "/";
  const std::vector<std::string> lines = split(text_of(base + "proc/self/cgroup").value_or(""), '\n');
  for (const std::string& line : lines) {
    const std::vector<std::string> parts = split(line, ':');
    if (parts.size() < 3) continue;
    const bool unified = parts[1].empty(), memory = parts[1] == "memory";
    if (!unified && !memory) continue;
    const std::string folder = base + (unified ? "sys/fs/cgroup" : "sys/fs/cgroup/memory");
    const std::string file = unified ? "memory.events" : "memory.oom_control";
    // In a container the path may be the host's: then the mount itself is ours.
    for (const std::string& path : {folder + parts[2] + "/" + file, folder + "/" + file}) {
      if (const auto count = field(text_of(path), "oom_kill")) return {*count, "the cgroup's " + file};
    }
  }
  if (const auto count = field(text_of(base + "proc/vmstat"), "oom_kill")) return {*count, "/proc/vmstat"};
  return {};
}

}  // namespace deepgap
