#include "backends/native/native_backend.h"

#include "backends/common/host.h"
#include "backends/common/quantized_file.h"
#include "backends/native/native_session.h"
#include "engine/cpu/isa.h"
#include "engine/cpu/operators.h"

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

std::string refusal(const std::string& task, const std::vector<DeviceId>& devices, int processes) {
  if (task != "infer") return fmt::format("native does not do task {}: it runs inference", task);
  if (processes != 1 || devices.size() != 1) return "native runs in one process on one device";
  if (devices[0].kind != "cpu" || devices[0].index != 0)
    return fmt::format("native has no device {}:{}: it runs on cpu", devices[0].kind, devices[0].index);
  return {};
}

}  // namespace

std::string NativeBackend::version() const {
  const auto* dnnl = dnnl::version();
  return fmt::format("oneDNN {}.{}.{}, {}", dnnl->major, dnnl->minor, dnnl->patch, isa_description());
}

std::vector<DeviceInfo> NativeBackend::devices() const {
  return {{DeviceId{}, cpu_name(), host_memory_bytes(), {{"isa", isa_description()}}}};
}

std::vector<OptionInfo> NativeBackend::options() const {
  return {{"path", "fast: oneDNN with fused operators; plain: the evaluator that makes the FP32 reference, one operator at a time", "fast"},
          {"isa",
           "the instructions that may be used: avx2, avx512, avx512_vnni, avx512_bf16, amx (each with those before it); auto: all that the "
           "CPU has",
           "auto", true},
          {"pin", "on: each thread stays on one of the allowed CPUs, where there are enough of them; off: the system places them", "on"},
          {"streams", "queries computed at a time, each on its share of the threads", "1"}};
}

Support NativeBackend::supports(const Point& point, const GraphSummary& graph) const {
  auto reason = refusal(point.task, point.placement.devices, point.placement.processes);
  if (reason.empty()) reason = precision_refusal(point.precision, graph);
  const auto options = own_options(point, name());
  if (const auto isa = options.find("isa"); reason.empty() && isa != options.end()) reason = isa_refusal(isa->second);
  if (!reason.empty()) return {false, reason};
  for (const auto& use : graph.operators)
    if (!runs_natively(use.op, use.domain))
      return {false, fmt::format("native does not run operator {}{}{} (node {})", use.domain, use.domain.empty() ? "" : ".", use.op,
                                 use.first_node)};
  return {};
}

std::unique_ptr<Session> NativeBackend::load(const Model& model, const LoadOptions& options) {
  auto reason = refusal(options.task, options.placement.devices, options.placement.processes);
  if (reason.empty()) reason = precision_refusal(options.precision, model.summary());
  if (!reason.empty()) throw Error(ErrorKind::refused, reason);
  return make_native_session(model, options);
}

}  // namespace deepgap
