#include "backends/onnxruntime/ort_backend.h"

#include "backends/onnxruntime/ort_session.h"
#include "backends/onnxruntime/ort_settings.h"
#include "base/text.h"

#include <deepgap/own_options.h>

#include <fmt/format.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <fstream>

namespace deepgap {
namespace {

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return trim(line.substr(line.find(':') + 1));
  }
  return "CPU";
}

int64_t host_memory_bytes() {
  struct sysinfo info {};
  return ::sysinfo(&info) == 0 ? static_cast<int64_t>(info.totalram) * info.mem_unit : -1;
}

}  // namespace

OrtBackend::OrtBackend() { OrtLibrary::instance(); }

std::string OrtBackend::version() const { return OrtLibrary::instance().version(); }

std::vector<DeviceInfo> OrtBackend::devices() const { return {{DeviceId{}, cpu_name(), host_memory_bytes(), {}}}; }

std::vector<OptionInfo> OrtBackend::options() const { return ort_option_infos(); }

Support OrtBackend::supports(const Point& point, const GraphSummary& /*graph*/) const {
  parse_ort_settings(own_options(point, name()), std::max(point.threads, 1));  // throws for values that cannot be read
  const auto no = [](const std::string& reason) { return Support{false, "onnxruntime: " + reason}; };
  if (point.task != "infer") return no(fmt::format("task {} is not supported, only infer", point.task));
  if (point.precision != "fp32") return no(fmt::format("precision {} is not supported yet, only fp32", point.precision));
  if (point.placement.processes != 1 || point.placement.devices.size() != 1) return no("one process and one device only");
  const DeviceId& device = point.placement.devices.front();
  if (device.kind != "cpu") return no(fmt::format("device {} is not supported: the package has the CPU provider only", device.kind));
  return {};
}

std::unique_ptr<Session> OrtBackend::load(const Model& model, const LoadOptions& options) {
  const OrtSettings settings = parse_ort_settings(options.options, options.threads);
  Point point;
  point.task = options.task;
  point.precision = options.precision;
  point.placement = options.placement;
  if (const Support support = supports(point, GraphSummary{}); !support.ok) throw Error(ErrorKind::refused, support.reason);
  return make_ort_session(model, options, settings);
}

}  // namespace deepgap
