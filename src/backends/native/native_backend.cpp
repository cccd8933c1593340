#include "backends/native/native_backend.h"

#include "backends/native/native_session.h"
#include "engine/cpu/operators.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace deepgap {
namespace {

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "CPU";
}

std::string isa_name(dnnl::cpu_isa isa) {
  switch (isa) {
    case dnnl::cpu_isa::sse41:
      return "SSE4.1";
    case dnnl::cpu_isa::avx:
      return "AVX";
    case dnnl::cpu_isa::avx2:
      return "AVX2";
    case dnnl::cpu_isa::avx2_vnni:
      return "AVX2 VNNI";
    case dnnl::cpu_isa::avx512_core:
      return "AVX-512";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "AVX-512 VNNI";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "AVX-512 BF16";
    case dnnl::cpu_isa::avx512_core_fp16:
      return "AVX-512 FP16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "AVX-512 AMX";
    default:
      return fmt::format("ISA {}", static_cast<int>(isa));
  }
}

std::string refusal(const std::string& precision, const std::string& task, const std::vector<DeviceId>& devices, int processes) {
  if (task != "infer") return fmt::format("native does not do task {}: it runs inference", task);
  if (precision != "fp32") return fmt::format("native does not do precision {}: it computes in fp32", precision);
  if (processes != 1 || devices.size() != 1) return "native runs in one process on one device";
  if (devices[0].kind != "cpu" || devices[0].index != 0)
    return fmt::format("native has no device {}:{}: it runs on cpu", devices[0].kind, devices[0].index);
  return {};
}

}  // namespace

std::string NativeBackend::version() const {
  const auto* dnnl = dnnl::version();
  return fmt::format("oneDNN {}.{}.{}, {}", dnnl->major, dnnl->minor, dnnl->patch, isa_name(dnnl::get_effective_cpu_isa()));
}

std::vector<DeviceInfo> NativeBackend::devices() const {
  const int64_t memory = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  return {{DeviceId{}, cpu_name(), memory, {{"isa", isa_name(dnnl::get_effective_cpu_isa())}}}};
}

std::vector<OptionInfo> NativeBackend::options() const {
  return {{"path", "fast: oneDNN with fused operators; plain: the evaluator that makes the FP32 reference, one operator at a time", "fast"},
          {"pin", "on: each thread stays on one of the allowed CPUs, where there are enough of them; off: the system places them", "on"},
          {"streams", "queries computed at a time, each on its share of the threads", "1"}};
}

Support NativeBackend::supports(const Point& point, const GraphSummary& graph) const {
  const auto reason = refusal(point.precision, point.task, point.placement.devices, point.placement.processes);
  if (!reason.empty()) return {false, reason};
  for (const auto& use : graph.operators)
    if (!runs_natively(use.op, use.domain))
      return {false, fmt::format("native does not run operator {}{}{} (node {})", use.domain, use.domain.empty() ? "" : ".", use.op,
                                 use.first_node)};
  return {};
}

std::unique_ptr<Session> NativeBackend::load(const Model& model, const LoadOptions& options) {
  const auto reason = refusal(options.precision, options.task, options.placement.devices, options.placement.processes);
  if (!reason.empty()) throw Error(ErrorKind::refused, reason);
  return make_native_session(model, options);
}

}  // namespace deepgap
