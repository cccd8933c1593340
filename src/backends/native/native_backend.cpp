#include "backends/native/native_backend.h"

#include "backends/common/host.h"
#include "backends/common/quantized_file.h"
#include "backends/native/gpu_session.h"
#include "backends/native/native_generate.h"
#include "backends/native/native_options.h"
#include "backends/native/native_session.h"
#include "engine/cpu/isa.h"
#include "engine/cpu/operators.h"
#include "engine/gpu/operators.h"

#include <fmt/core.h>

#include <algorithm>

namespace deepgap {
namespace {

// Returns why it cannot run in this precision; empty when it can.
std::string precision_refusal(Precision precision, const GraphSummary& graph) {
  if (precision == Precision::int8) {
    if (is_quantized(graph) || computes_integers(graph)) return {};
    return "native: precision int8 needs a quantized file, with QuantizeLinear and DequantizeLinear; this one has none";
  }
  if (precision == Precision::fp32) return {};
  if (precision != Precision::bf16 && precision != Precision::mixed)
    return fmt::format("native does not do precision {}: it computes in fp32, bf16, mixed (bf16 on a CPU), and int8 for quantized files",
                       name_of(precision));
  if (const OperatorUse* quantize = find_operator(graph, "QuantizeLinear"))
    return fmt::format("native does not do precision {} of a quantized file (QuantizeLinear, node {}): ask for int8 or fp32",
                       name_of(precision), quantize->first_node);
  const auto isas = available_isas();
  if (std::find(isas.begin(), isas.end(), "avx512") == isas.end())
    return fmt::format("native does not do precision {} on this CPU: oneDNN computes it with AVX-512, {} has none", name_of(precision),
                       cpu_name());
  return {};
}

bool is_gpu(const std::vector<DeviceId>& devices) { return devices.size() == 1 && devices[0].kind == "cuda"; }

// Returns why it cannot run, as far as the Model's operators do not matter; empty when it can.
std::string request_refusal(const EngineRequest& request, const NativeOptions& options, const GraphSummary& graph) {
  const std::vector<DeviceId>& devices = request.placement.devices;
  if (request.placement.processes != 1 || devices.size() != 1) return "native runs in one process on one device";
  if (is_gpu(devices)) {
    if (request.samples_change && request.inputs != InputPlace::host)
      return "native: samples that change between queries (end to end) are copied by each query: inputs=host";
    return gpu_precision_refusal(request.precision, graph);
  }
  if (devices[0].kind != "cpu" || devices[0].index != 0)
    return fmt::format("native has no device {}:{}: it runs on cpu and cuda:N", devices[0].kind, devices[0].index);
  const std::string reason = precision_refusal(request.precision, graph);
  return reason.empty() ? isa_refusal(options.isa) : reason;
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
  if (on_gpu_) return gpu_version(asks_libraries_);
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

std::vector<OptionInfo> NativeBackend::options() const { return native_options().infos(); }

Support NativeBackend::supports(const EngineRequest& request, const GraphSummary& graph) const {
  const NativeOptions native = native_options().parse(request.options);
  require_generation("native", native.generation, request.task);
  std::string reason = request.task == Task::generate ? generate_refusal(request, native, graph) : request_refusal(request, native, graph);
  if (request.task == Task::generate) return {reason.empty(), reason};
  if (reason.empty()) reason = operator_refusal(graph, is_gpu(request.placement.devices));
  return {reason.empty(), reason};
}

std::unique_ptr<Session> NativeBackend::load(const Model& model, const LoadOptions& options) {
  const NativeOptions native = native_options().parse(options.options);
  const std::string reason = options.task == Task::generate ? generate_refusal(options, native, model.summary())
                                                            : request_refusal(options, native, model.summary());
  if (!reason.empty()) throw Error(ErrorKind::refused, reason);
  on_gpu_ = is_gpu(options.placement.devices);
  asks_libraries_ = native.asks_libraries();
  if (options.task == Task::generate) return make_native_generate_session(model, options, native);
  if (on_gpu_) return make_gpu_session(model, options, native);
  return make_native_session(model, options, native);
}

}  // namespace deepgap
