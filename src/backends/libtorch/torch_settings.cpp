#include "backends/libtorch/torch_settings.h"

#include "backends/common/option_choice.h"
#include "backends/libtorch/torch_operators.h"
#include "base/text.h"

#include <deepgap/own_options.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace deepgap {
namespace {

bool is_on(const BackendOptions& options, const std::string& name) {
  return option_choice<bool>("libtorch", options, name, {{"off", false}, {"on", true}}, false);
}

// Why LibTorch on this kind of device does not do a precision; empty when it does.
std::string precision_refusal(const std::string& precision, bool cuda) {
  const std::vector<std::string> known =
      cuda ? std::vector<std::string>{"fp32", "tf32", "bf16", "fp16", "mixed"} : std::vector<std::string>{"fp32", "bf16", "fp16", "mixed"};
  if (std::find(known.begin(), known.end(), precision) != known.end()) return {};
  const std::string here = cuda ? "on a GPU" : "on the CPU";
  if (precision == "int8" || precision == "fp8")
    return fmt::format("precision {} is not supported: PyTorch's eager mode {} has no {} convolutions", precision, here, precision);
  return fmt::format("precision {} is not supported {}, only {}", precision, here, join(known, ", "));
}

}  // namespace

std::vector<OptionInfo> torch_option_infos(bool cuda) {
  std::vector<OptionInfo> infos{
      {"channels_last", "on: pictures and convolution weights lie channels last; off: channels first, as PyTorch does by itself", "off",
       false},
      {"package", "a TorchScript (.pt) or AOTInductor (.pt2) file of the same network, run instead of the graph", "", false},
  };
  if (cuda) {
    infos.push_back({"cuda_graph", "on: the work of each batch size is captured once and replayed; off: eager", "off", false});
    infos.push_back({"cudnn_benchmark", "on: cuDNN tries its algorithms at load and takes the fastest", "off", true});
    infos.push_back(
        {"inputs",
         "host: a query copies its samples to the GPU; device: they were copied there before, and it gathers them there; ready: "
         "likewise, and they were converted to the network's type and layout before",
         "host", false});
  }
  return infos;
}

TorchSettings parse_torch_settings(const std::map<std::string, std::string>& options, bool cuda) {
  TorchSettings settings;
  settings.channels_last = is_on(options, "channels_last");
  if (const auto given = options.find("package"); given != options.end()) settings.package = given->second;
  if (cuda) {
    settings.cuda_graph = is_on(options, "cuda_graph");
    settings.cudnn_search = is_on(options, "cudnn_benchmark");
    settings.samples = option_choice<cuda::SamplePlace>(
        "libtorch", options, "inputs",
        {{"host", cuda::SamplePlace::host}, {"device", cuda::SamplePlace::device}, {"ready", cuda::SamplePlace::ready}},
        cuda::SamplePlace::host);
  }
  std::error_code error;
  if (!settings.package.empty() && !std::filesystem::is_regular_file(settings.package, error))
    throw Error(ErrorKind::usage, fmt::format("libtorch: package '{}' is no file", settings.package));
  return settings;
}

Support torch_support(const Point& point, const GraphSummary& graph, const std::string& name, const std::vector<DeviceInfo>& devices) {
  const bool cuda = !devices.empty() && devices.front().id.kind == "cuda";
  const TorchSettings settings = parse_torch_settings(own_options(point, name), cuda);
  const auto no = [&](const std::string& reason) { return Support{false, name + ": " + reason}; };
  if (point.task != "infer") return no(fmt::format("task {} is not supported, only infer", point.task));
  if (const std::string refusal = precision_refusal(point.precision, cuda); !refusal.empty()) return no(refusal);
  if (point.placement.processes != 1 || point.placement.devices.size() != 1) return no("one process and one device only");
  const DeviceId& device = point.placement.devices.front();
  if (std::none_of(devices.begin(), devices.end(), [&](const DeviceInfo& info) { return info.id == device; }))
    return no(fmt::format("device {}:{} is not here", device.kind, device.index));
  const std::string operators = settings.package.empty() ? torch_operator_refusal(graph) : "";
  return operators.empty() ? Support{} : no(operators);
}

}  // namespace deepgap
