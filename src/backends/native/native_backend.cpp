#include "backends/native/native_backend.h"

#include "backends/common/host.h"
#include "backends/common/quantized_file.h"
#include "backends/native/gpu_session.h"
#include "backends/native/native_session.h"
#include "engine/cpu/isa.h"
#include "engine/cpu/operators.h"
#include "engine/gpu/operators.h"

#include <deepgap/own_options.h>

#include <fmt/core.h>

#include <algorithm>

namespace deepgap {
namespace {

// Why not in this precision; empty when it can.
std::string precision_refusal(const std::string& precision, const GraphSummary& graph) {
  if (precision == "int8") {
    if (is_quantized(graph)) return {};
    return "native: precision int8 needs a quantized file, with QuantizeLinear and DequantizeLinear; this one has none";
  }
  if (precision == "fp32") return {};
  if (precision != "bf16" && precision != "mixed")
    return fmt::format("native does not do precision {}: it computes in fp32, bf16, mixed (bf16 on a CPU), and int8 for quantized files",
                       precision);
  if (const OperatorUse* quantize = find_operator(graph, "QuantizeLinear"))
    return fmt::format("native does not do precision {} of a quantized file (QuantizeLinear, node {}): ask for int8 or fp32", precision,
                       quantize->first_node);
  const auto isas = available_isas();
  if (std::find(isas.begin(), isas.end(), "avx512") == isas.end())
    return fmt::format("native does not do precision {} on this CPU: oneDNN computes it with AVX-512, {} has none", precision, cpu_name());
  return {};
}

bool is_gpu(const std::vector<DeviceId>& devices) { return devices.size() == 1 && devices[0].kind == "cuda"; }

std::string refusal(const std::string& task, const std::vector<DeviceId>& devices, int processes) {
  if (task != "infer") return fmt::format("native does not do task {}: it runs inference", task);
  if (processes != 1 || devices.size() != 1) return "native runs in one process on one device";
  if (is_gpu(devices)) return {};
  if (devices[0].kind != "cpu" || devices[0].index != 0)
    return fmt::format("native has no device {}:{}: it runs on cpu and cuda:N", devices[0].kind, devices[0].index);
  return {};
}

// The driver is asked at load: where it hangs, a worker that is watched does.
std::string operator_refusal(const GraphSummary& graph, bool gpu) {
  for (const auto& use : graph.operators)
    if (!(gpu ? gpu::runs_on_gpu(use.op, use.domain) : runs_natively(use.op, use.domain)))
      return fmt::format("native{} does not run operator {}{}{} (node {})", gpu ? " on cuda" : "", use.domain,
                         use.domain.empty() ? "" : ".", use.op, use.first_node);
  return {};
}

}  // namespace

std::string NativeBackend::version() const {
  const auto* dnnl = dnnl::version();
  return fmt::format("oneDNN {}.{}.{}, {}", dnnl->major, dnnl->minor, dnnl->patch, isa_description());
}

std::vector<DeviceInfo> NativeBackend::devices() const {
  std::vector<DeviceInfo> devices{{DeviceId{}, cpu_name(), host_memory_bytes(), {{"isa", isa_description()}}}};
  const std::string absence = gpu_absence();
  if (!absence.empty()) devices[0].properties["cuda"] = absence;
  for (DeviceInfo& device : gpu_devices()) devices.push_back(std::move(device));
  return devices;
}

std::vector<OptionInfo> NativeBackend::options() const {
  std::vector<OptionInfo> options{
      {"path", "fast: oneDNN with fused operators; plain: the evaluator that makes the FP32 reference, one operator at a time", "fast"},
      {"isa",
       "the instructions that may be used: avx2, avx512, avx512_vnni, avx512_bf16, amx (each with those before it); auto: all that the "
       "CPU has",
       "auto", true},
      {"pin", "on: each thread stays on one of the allowed CPUs, where there are enough of them; off: the system places them", "on"},
      {"streams", "queries computed at a time, each on its share of the threads", "1"}};
  for (OptionInfo& option : gpu_option_infos()) options.push_back(std::move(option));
  return options;
}

Support NativeBackend::supports(const Point& point, const GraphSummary& graph) const {
  auto reason = refusal(point.task, point.placement.devices, point.placement.processes);
  const bool gpu = is_gpu(point.placement.devices);
  if (reason.empty()) reason = gpu ? gpu_precision_refusal(point.precision, graph) : precision_refusal(point.precision, graph);
  const auto options = own_options(point, name());
  if (const auto isa = options.find("isa"); reason.empty() && isa != options.end()) reason = isa_refusal(isa->second);
  if (!reason.empty()) return {false, reason};
  reason = operator_refusal(graph, gpu);
  if (!reason.empty()) return {false, reason};
  return {};
}

std::unique_ptr<Session> NativeBackend::load(const Model& model, const LoadOptions& options) {
  auto reason = refusal(options.task, options.placement.devices, options.placement.processes);
  const bool gpu = is_gpu(options.placement.devices);
  if (reason.empty())
    reason = gpu ? gpu_precision_refusal(options.precision, model.summary()) : precision_refusal(options.precision, model.summary());
  if (!reason.empty()) throw Error(ErrorKind::refused, reason);
  check_gpu_options(options);
  if (gpu) return make_gpu_session(model, options);
  return make_native_session(model, options);
}

}  // namespace deepgap
