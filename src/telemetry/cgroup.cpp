#include "telemetry/cgroup.h"

#include "base/text.h"

#include <algorithm>
#include <functional>
#include <set>

namespace deepgap {
namespace {

constexpr int64_t no_limit_v1 = int64_t{1} << 60;  // version 1 says "none" with a number near 2^63

template <typename T>
void take_smaller(std::optional<T>& known, std::optional<T> found) {
  if (found && (!known || *found < *known)) known = found;
}

// "/a/b" and its ancestors, "" for the mount's root last.
void each_ancestor(std::string path, const std::function<void(const std::string&)>& visit) {
  while (!path.empty() && path != "/") {
    visit(path);
    path.erase(path.rfind('/'));
  }
  visit("");
}

std::optional<double> quota_v1(const SystemRoot& root, const std::string& folder) {
  const auto quota = root.integer(folder + "/cpu.cfs_quota_us"), period = root.integer(folder + "/cpu.cfs_period_us");
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::optional<double> quota_v2(const SystemRoot& root, const std::string& folder) {
  const auto parts = split(root.text(folder + "/cpu.max"), ' ');  // "max 100000" or "150000 100000"
  if (parts.size() != 2) return std::nullopt;
  const auto quota = parse_double(parts[0]), period = parse_double(parts[1]);
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return *quota / *period;
}

std::optional<int64_t> memory_v1(const SystemRoot& root, const std::string& folder) {
  const auto limit = root.integer(folder + "/memory.limit_in_bytes");
  return limit && *limit > 0 && *limit < no_limit_v1 ? limit : std::nullopt;
}

void read_v1(const SystemRoot& root, const std::string& controllers, const std::string& path, CgroupLimits& limits) {
  const auto names = split(controllers, ',');
  const bool cpu = std::count(names.begin(), names.end(), "cpu") != 0, memory = std::count(names.begin(), names.end(), "memory") != 0;
  if (!cpu && !memory) return;
  const std::string root_of_all = "/sys/fs/cgroup/";
  for (const std::string& mount : std::set{root_of_all + controllers, root_of_all + (cpu ? "cpu" : "memory")}) {
    each_ancestor(path, [&](const std::string& group) {
      if (cpu) take_smaller(limits.cpu_quota, quota_v1(root, mount + group));
      if (memory) take_smaller(limits.memory_bytes, memory_v1(root, mount + group));
    });
  }
}

void read_v2(const SystemRoot& root, const std::string& path, CgroupLimits& limits) {
  for (const std::string mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    each_ancestor(path, [&](const std::string& group) {
      take_smaller(limits.cpu_quota, quota_v2(root, mount + group));
      take_smaller(limits.memory_bytes, root.integer(mount + group + "/memory.max"));
    });
  }
}

}  // namespace

CgroupLimits read_cgroup_limits(const SystemRoot& root) {
  CgroupLimits limits;
  bool v1 = false, v2 = false;
  for (const std::string& line : split(root.text("/proc/self/cgroup"), '\n')) {  // "4:cpu,cpuacct:/path" or "0::/path"
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (controllers.empty()) {
      v2 = true;
      read_v2(root, path, limits);
    } else {
      v1 = true;
      read_v1(root, controllers, path, limits);
    }
  }
  limits.version = v1 && v2 ? "1 and 2" : v1 ? "1" : v2 ? "2" : "";
  return limits;
}

}  // namespace deepgap
