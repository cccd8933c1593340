#include "cli/device_text.h"

#include "base/dump_json.h"
#include "base/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace deepgap {
namespace {

using nlohmann::json;

constexpr const char* indent = "          ";
constexpr size_t longest_property = 40;  // longer ones are reasons why something is missing; `deepgap backends` and --json have them

// Returns whether a fact is known. "not available: why" is left out of lines for people; --json has the reasons.
bool known(const json& facts, const char* key) {
  const auto found = facts.find(key);
  return found != facts.end() && !found->is_null() &&
         !(found->is_string() && found->get_ref<const std::string&>().starts_with("not available"));
}

std::string count(const json& facts, const char* key, const char* what) {
  if (!known(facts, key)) return {};
  const auto n = facts[key].get<int64_t>();
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

std::string line(std::vector<std::string> parts) {
  std::erase(parts, "");
  return parts.empty() ? "" : fmt::format("{}{}\n", indent, join(parts, ", "));
}

std::string text_of(const json& facts, const char* key, const char* format) {
  if (!known(facts, key)) return {};
  const json& value = facts[key];
  return fmt::format(fmt::runtime(format), value.is_string() ? value.get<std::string>() : dump_line(value));
}

std::string megahertz(const json& facts, const char* key) { return fmt::format("{:.0f}", facts[key].get<double>() / 1e6); }

std::string clock_text(const json& gpu, const char* now, const char* most, const char* what) {
  if (!known(gpu, now)) return {};
  return fmt::format("{} {}{} MHz", what, megahertz(gpu, now), known(gpu, most) ? " of " + megahertz(gpu, most) : "");
}

std::string pcie_text(const json& gpu) {
  if (!known(gpu, "pcie_generation_max") || !known(gpu, "pcie_width_max")) return {};
  return fmt::format("PCIe {} x{}{}", dump_line(gpu["pcie_generation_max"]), dump_line(gpu["pcie_width_max"]),
                     known(gpu, "pci_bus_id") ? " at " + gpu["pci_bus_id"].get<std::string>() : "");
}

std::string links_text(const json& gpu) {
  const std::string links = count(gpu, "nvlinks", "NVLink");
  if (links.empty() || links.starts_with("0 ")) return links.empty() ? "" : "no NVLink";
  return links + (known(gpu, "nvlink_version") ? fmt::format(" (version {})", dump_line(gpu["nvlink_version"])) : "");
}

std::string gpu_text(const json& row) {
  const json& gpu = row["gpu"];
  const json& driver = row["driver"];
  std::string text = line({count(gpu, "multiprocessors", "multiprocessor"), text_of(gpu, "compute_capability", "compute capability {}"),
                           text_of(driver, "driver", "driver {}"), text_of(driver, "cuda", "CUDA {}")});
  text +=
      line({clock_text(gpu, "clock_sm", "clock_sm_max_hz", "clock"), clock_text(gpu, "clock_memory", "clock_memory_max_hz", "memory clock"),
            known(gpu, "power_limit_w") ? fmt::format("at most {:.0f} W", gpu["power_limit_w"].get<double>()) : ""});
  text += line({pcie_text(gpu), links_text(gpu), text_of(gpu, "numa_node", "NUMA node {}"), text_of(gpu, "cpu_socket", "CPU socket {}")});
  text += line({text_of(gpu, "uuid", "{}")});
  if (row.contains("note")) text += line({row["note"].get<std::string>()});
  return text;
}

}  // namespace

std::string device_text(const json& row) {
  const auto device = row["device"].get<std::string>();
  if (!row["available"].get<bool>()) return fmt::format("no GPU: {}\n", row["reason"].get<std::string>());
  const std::string cores =
      row.contains("cores") ? fmt::format(", {} of {} cores allowed", row["allowed_cores"].get<int>(), row["cores"].get<int>()) : "";
  const json& memory = row["memory_bytes"];
  std::string text = fmt::format("{:<8}  {}{}{}\n", device, row["name"].get<std::string>(), cores,
                                 memory.is_null() ? "" : ", " + format_bytes(memory.get<double>()));
  text += line({count(row, "sockets", "socket"), count(row, "physical_cores", "physical core"), count(row, "numa_nodes", "NUMA node")});
  if (row.contains("gpu")) {
    text += gpu_text(row);
  } else if (row.contains("properties")) {  // only an engine knows it
    std::vector<std::string> properties;
    for (const auto& [name, value] : row["properties"].items())
      if (const auto text = value.get<std::string>(); text.size() <= longest_property && !name.starts_with("provider."))
        properties.push_back(name + " " + text);
    text += line(properties);
  }
  const auto backends = row["backends"].get<std::vector<std::string>>();
  return text + line({"backends: " + (backends.empty() ? "none" : join(backends, ", "))});
}

}  // namespace deepgap
