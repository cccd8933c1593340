#include "backends/xla/xla_settings.h"

#include "backends/xla/xla_operator.h"

#include <fmt/format.h>

namespace deepgap {

XlaSettings xla_settings(const EngineRequest& request) {
  XlaSettings settings;
  if (request.precision == Precision::bf16) settings.floats = DataType::bf16;
  if (request.precision == Precision::fp16) settings.floats = DataType::f16;
  settings.exact = request.precision != Precision::tf32;
  return settings;
}

std::string xla_refusal(const EngineRequest& request, const GraphSummary& graph) {
  const Placement& placement = request.placement;
  if (placement.processes != 1 || placement.devices.size() != 1) return "one process and one device only";
  const DeviceId& device = placement.devices.front();
  const bool cpu = device.kind == "cpu" && device.index == 0, cuda = device.kind == "cuda";
  if (!cpu && !cuda) return fmt::format("device {}:{} is not supported, only the CPU and NVIDIA GPUs", device.kind, device.index);
  switch (request.precision) {
    case Precision::fp32:
    case Precision::bf16:
    case Precision::fp16:
      break;
    case Precision::tf32:
      if (cuda) break;
      [[fallthrough]];
    default:
      return fmt::format("precision {} is not supported, only fp32, bf16{}", name_of(request.precision),
                         cpu ? " and fp16" : ", fp16 and tf32");
  }
  return xla_operator_refusal(graph);
}

}  // namespace deepgap
