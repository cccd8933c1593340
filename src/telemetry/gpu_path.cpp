#include "telemetry/gpu_path.h"

#include "telemetry/system_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace deepgap {
namespace {

constexpr const char* nvswitch = "a switch";

// The driver reports no address for an NVSwitch: all bits are set.
std::string peer_name(const NvmlPci& remote) {
  const std::string address = pci_address(remote);
  return address.starts_with("ffff:ff:ff") ? nvswitch : address;
}

// NVML's nvmlGpuTopologyLevel_t.
std::string pcie_code(int level) {
  if (level < 20) return "PIX";
  if (level < 30) return "PXB";
  if (level < 40) return "PHB";
  if (level < 50) return "NODE";
  return "SYS";
}

}  // namespace

std::string pci_address(const NvmlPci& pci) {
  std::string id(pci.bus_id.data());
  if (id.size() > 12) id = id.substr(id.size() - 12);
  std::transform(id.begin(), id.end(), id.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return id;
}

int64_t GpuLinks::active() const {
  int64_t sum = 0;
  for (const auto& [peer, count] : peers) sum += count;
  return sum;
}

int64_t GpuLinks::to(const std::string& address) const {
  int64_t sum = 0;
  for (const auto& [peer, count] : peers)
    if (peer == address || peer == nvswitch) sum += count;
  return sum;
}

GpuLinks gpu_links(const NvmlApi& api, NvmlDevice device) {
  GpuLinks links;
  for (unsigned link = 0; link < nvml_most_links; ++link) {
    unsigned on = 0;
    const int result = nvml_call(api.link_state, device, link, &on);
    if (result != nvml_ok && link == 0) links.result = result;
    if (result != nvml_ok || on == 0) continue;
    links.result = nvml_ok;
    nvml_call(api.link_version, device, link, &links.version);
    NvmlPci remote{};
    ++links.peers[nvml_call(api.link_remote, device, link, &remote) == nvml_ok ? peer_name(remote) : "an unknown device"];
  }
  return links;
}

Fact pcie_path(const NvmlApi& api, NvmlDevice a, NvmlDevice b) {
  int level = 0;
  const int result = nvml_call(api.common_ancestor, a, b, &level);
  return result == nvml_ok ? Fact(pcie_code(level)) : not_available(nvml_words(result));
}

Fact gpu_path(const NvmlApi& api, NvmlDevice from, NvmlDevice to) {
  int status = -1;
  NvmlPci pci{};
  const bool linked = nvml_call(api.peer_status, from, to, nvml_peer_nvlink, &status) == nvml_ok && status == nvml_peer_ok;
  if (!linked || nvml_call(api.pci, to, &pci) != nvml_ok) return pcie_path(api, from, to);
  return fmt::format("NV{}", gpu_links(api, from).to(pci_address(pci)));
}

void add_path(const NvmlApi& api, NvmlDevice from, NvmlDevice to, int number, const std::string& prefix, Facts& facts) {
  facts[fmt::format("{}path_to_{}", prefix, number)] = gpu_path(api, from, to);
  facts[fmt::format("{}pcie_path_to_{}", prefix, number)] = pcie_path(api, from, to);
}

}  // namespace deepgap
