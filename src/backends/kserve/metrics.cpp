#include "backends/kserve/metrics.h"

#include "base/text.h"

#include <algorithm>
#include <string>

namespace deepgap {
namespace {

struct Sum {
  double sum = 0;
  int count = 0;
};

// "name{labels} value" or "name value", a line each; labels may hold blanks.
Sum sum_of(std::string_view text, std::string_view name) {
  Sum found;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with(name) || line.size() == name.size()) continue;
    const char next = line[name.size()];
    const size_t closing = line.rfind('}');
    if (next != ' ' && (next != '{' || closing == std::string_view::npos)) continue;
    const auto value = parse_double(trim(line.substr(next == ' ' ? name.size() : closing + 1)));
    if (!value) continue;
    found.sum += *value;
    ++found.count;
  }
  return found;
}

std::optional<double> total(std::string_view text, std::string_view name) {
  const Sum found = sum_of(text, name);
  return found.count == 0 ? std::nullopt : std::optional(found.sum);
}

}  // namespace

ServerGpus read_gpu_metrics(std::string_view text) {
  ServerGpus gpus;
  if (const Sum used = sum_of(text, "nv_gpu_utilization"); used.count > 0) gpus.utilization = used.sum / used.count;
  gpus.memory_used_bytes = total(text, "nv_gpu_memory_used_bytes");
  gpus.power_w = total(text, "nv_gpu_power_usage");
  gpus.energy_j = total(text, "nv_energy_consumption");
  return gpus;
}

std::map<std::string, double> between(const ServerGpus& before, const ServerGpus& after) {
  std::map<std::string, double> found;
  const auto put = [&](const char* name, const std::optional<double>& value) {
    if (value) found[name] = *value;
  };
  put("server.gpu_utilization", after.utilization);
  put("server.gpu_memory_used_bytes", after.memory_used_bytes);
  put("server.gpu_power_w", after.power_w);
  if (before.energy_j && after.energy_j && *after.energy_j >= *before.energy_j)  // else it started again
    put("server.gpu_energy_j", *after.energy_j - *before.energy_j);
  return found;
}

}  // namespace deepgap
