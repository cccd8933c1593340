#include "backends/libtorch/cuda/cuda_devices.h"

#include "base/file.h"
#include "base/text.h"

#include <deepgap/error.h>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace deepgap {
namespace {

using Properties = std::map<std::string, std::string>;

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : 0;
}

// One line of a file, or nothing.
std::string line_of(const std::string& path) {
  try {
    return trim(split(read_text(path), '\n').front());
  } catch (const Error&) {
    return {};
  }
}

void add(Properties& properties, const std::string& name, const std::string& value) {
  if (!value.empty()) properties[name] = value;
}

void add_clock(Properties& properties, const std::string& name, int khz) {
  if (khz > 0) properties[name] = fmt::format("{} MHz", khz / 1000);
}

// What the kernel tells of the card's place.
void add_place(Properties& properties, int device) {
  std::array<char, 32> address{};
  if (cudaDeviceGetPCIBusId(address.data(), static_cast<int>(address.size()), device) != cudaSuccess) return;
  std::string bus = address.data();
  std::transform(bus.begin(), bus.end(), bus.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string folder = "/sys/bus/pci/devices/" + bus + "/";
  add(properties, "pci", bus);
  add(properties, "pcie_speed", line_of(folder + "max_link_speed"));
  add(properties, "pcie_width", line_of(folder + "max_link_width"));
  add(properties, "numa_node", line_of(folder + "numa_node"));
}

Properties properties_of(int device) {
  Properties properties;
  properties["multiprocessors"] = std::to_string(attribute(cudaDevAttrMultiProcessorCount, device));
  properties["compute_capability"] =
      fmt::format("{}.{}", attribute(cudaDevAttrComputeCapabilityMajor, device), attribute(cudaDevAttrComputeCapabilityMinor, device));
  add_clock(properties, "sm_clock", attribute(cudaDevAttrClockRate, device));
  add_clock(properties, "memory_clock", attribute(cudaDevAttrMemoryClockRate, device));
  add_place(properties, device);
  add(properties, "driver", line_of("/sys/module/nvidia/version"));
  int cuda = 0;
  if (cudaDriverGetVersion(&cuda) == cudaSuccess) properties["driver_cuda"] = fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10);
  return properties;
}

}  // namespace

std::vector<DeviceInfo> cuda_devices() {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result != cudaSuccess) throw Error(ErrorKind::refused, fmt::format("CUDA finds no GPU: {}", cudaGetErrorString(result)));
  std::vector<DeviceInfo> devices;
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp known{};
    if (cudaGetDeviceProperties(&known, device) != cudaSuccess) continue;
    devices.push_back({DeviceId{"", "cuda", device}, known.name, static_cast<int64_t>(known.totalGlobalMem), properties_of(device)});
  }
  return devices;
}

}  // namespace deepgap
