#include "backends/libtorch/torch_settings.h"

#include "backends/libtorch/decoder/torch_generate.h"
#include "backends/libtorch/torch_operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace deepgap {
namespace {

// Returns why LibTorch on this kind of device does not do a precision; empty when it does.
std::string precision_refusal(Precision precision, bool cuda) {
  switch (precision) {
    case Precision::fp32:
    case Precision::bf16:
    case Precision::fp16:
    case Precision::mixed:
      return {};
    case Precision::tf32:
      if (cuda) return {};
      break;
    case Precision::int8:
    case Precision::fp8:
    case Precision::fp4:
      break;
  }
  const std::string here = cuda ? "on a GPU" : "on the CPU";
  if (precision != Precision::tf32)
    return fmt::format("precision {0} is not supported: PyTorch's eager mode {1} has no {0} convolutions", name_of(precision), here);
  return fmt::format("precision {} is not supported {}, only fp32, bf16, fp16, mixed", name_of(precision), here);
}

// Returns why such steps of training cannot run here; empty when they can.
std::string train_refusal(const EngineRequest& request, const GraphSummary& graph, const TorchSettings& settings, bool cuda) {
  if (!settings.package.empty()) return "a package has no weights that training could change: leave out libtorch.package";
  if (request.precision == Precision::fp16 && !cuda) return "training in fp16 is for a GPU; the CPU has fp32, bf16 and mixed";
  if (cuda && is_ready(request.inputs)) return "training takes its samples as they are: inputs=device or host";
  if (request.samples_change) return "training from image files (end to end) is not supported";
  const auto quantized = std::find_if(graph.operators.begin(), graph.operators.end(), [](const OperatorUse& use) {
    return use.op == "QuantizeLinear" || use.op == "DequantizeLinear" || use.op.starts_with("QLinear");
  });
  if (quantized != graph.operators.end())
    return fmt::format("operator {} has no gradient (node '{}'): training wants the network before it was quantized", quantized->op,
                       quantized->first_node);
  return {};
}

OptionTable<TorchSettings> make_table(bool cuda) {
  OptionTable<TorchSettings> table("libtorch");
  table.on_off("channels_last",
               "on: images and convolution weights are stored channels last; off: channels first, as PyTorch does by default",
               &TorchSettings::channels_last);
  table.row({"package", "a TorchScript (.pt) or AOTInductor (.pt2) file of the same network, run instead of the graph", ""},
            [](TorchSettings& settings, const std::string& path) {
              std::error_code error;
              if (!path.empty() && !std::filesystem::is_regular_file(path, error))
                throw Error(ErrorKind::usage, fmt::format("libtorch: package '{}' is not a file", path));
              settings.package = path;
            });
  table.on_off("overlap", "training by several processes, on: gradients are averaged while the backward pass goes on; off: after it",
               &TorchSettings::overlaps);
  table.count("bucket_mib", "training by several processes: MiB of gradients that are averaged together; the first ones are at most 1",
              &TorchSettings::bucket_mib, 1, 4096);
  table.part(&TorchSettings::generation, generation_options());
  if (!cuda) return table;
  table.on_off("cuda_graph", "on: the work of each batch size is captured once and replayed; off: eager", &TorchSettings::cuda_graph);
  table.on_off("cudnn_benchmark", "on: cuDNN tries its algorithms at load and takes the fastest", &TorchSettings::cudnn_search)
      .process_wide();
  return table;
}

}  // namespace

const OptionTable<TorchSettings>& torch_options(bool cuda) {
  static const OptionTable<TorchSettings> on_cpu = make_table(false), on_gpu = make_table(true);
  return cuda ? on_gpu : on_cpu;
}

Support torch_support(const EngineRequest& request, const GraphSummary& graph, const std::string& name,
                      const std::vector<DeviceInfo>& devices) {
  const bool cuda = !devices.empty() && devices.front().id.kind == "cuda";
  const TorchSettings settings = torch_options(cuda).parse(request.options);
  require_generation(name, settings.generation, request.task);
  const auto no = [&](const std::string& reason) { return Support{false, name + ": " + reason}; };
  const bool generates = request.task == Task::generate;
  std::string of_task;
  if (request.task == Task::train) of_task = train_refusal(request, graph, settings, cuda);
  if (generates) of_task = torch_generate_refusal(request, graph, settings);
  if (!of_task.empty()) return no(of_task);
  if (const std::string refusal = precision_refusal(request.precision, cuda); !refusal.empty()) return no(refusal);
  if (request.placement.processes != 1 || request.placement.devices.size() != 1) return no("one process and one device only");
  const DeviceId& device = request.placement.devices.front();
  if (std::none_of(devices.begin(), devices.end(), [&](const DeviceInfo& info) { return info.id == device; }))
    return no(fmt::format("device {}:{} is not here", device.kind, device.index));
  if (cuda && request.samples_change && request.inputs != InputPlace::host)
    return no("samples that change between queries (end to end) are copied by each query: inputs=host");
  const std::string operators = settings.package.empty() && !generates ? torch_operator_refusal(graph) : "";
  return operators.empty() ? Support{} : no(operators);
}

}  // namespace deepgap
