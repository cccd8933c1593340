// Names of outcomes, verdicts, devices and placements.
#include "record/record_json.h"

#include "base/text.h"
#include "record/momentary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace deepgap {
namespace {

constexpr std::array<std::string_view, 9> outcome_names{"ok",      "refused",   "skipped",     "incorrect",  "out_of_memory",
                                                        "crashed", "timed_out", "device_lost", "interrupted"};
constexpr std::array<std::string_view, 6> verdict_names{"none", "valid", "as_found", "unstable", "undecided", "invalid"};

template <typename E, size_t N>
std::optional<E> find_name(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<E>(found - names.begin());
}

bool is_kind(std::string_view text) {
  return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos;
}

std::optional<int> parse_index(std::string_view text) {
  const auto index = parse_int(text);
  if (!index || *index < 0 || *index > 65535) return std::nullopt;
  return static_cast<int>(*index);
}

// "http://host:8000" or with a path behind it. None with a name, a password or a query in it: those may be secrets, and this is kept.
std::optional<DeviceId> server_from(std::string_view url) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_~:/[]%";
  const size_t colon = url.find("://");
  DeviceId device{std::string(url.substr(colon + 3)), std::string(url.substr(0, colon)), 0};
  for (char& letter : device.kind) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));  // as of any URL
  while (device.host.ends_with('/')) device.host.pop_back();
  const bool named = !device.host.empty() && device.host[0] != '/' && device.host[0] != ':';
  if (!is_remote(device) || !named || device.host.find_first_not_of(plain) != std::string::npos) return std::nullopt;
  return device;
}

}  // namespace

std::string_view name_of(Outcome outcome) { return outcome_names.at(static_cast<size_t>(outcome)); }
std::string_view name_of(Verdict verdict) { return verdict_names.at(static_cast<size_t>(verdict)); }
std::optional<Outcome> outcome_from(std::string_view name) { return find_name<Outcome>(outcome_names, name); }
std::optional<Verdict> verdict_from(std::string_view name) { return find_name<Verdict>(verdict_names, name); }

std::string device_name(const DeviceId& device) {
  if (is_remote(device)) return device.kind + "://" + device.host;
  std::string name = device.host.empty() ? device.kind : device.host + "/" + device.kind;
  if (device.kind != "cpu" || device.index != 0) name += fmt::format(":{}", device.index);
  return name;
}

std::optional<DeviceId> device_from(std::string_view name) {
  if (name.find("://") != std::string_view::npos) return server_from(name);
  DeviceId device;
  if (const auto slash = name.rfind('/'); slash != std::string_view::npos) {
    if (slash == 0) return std::nullopt;
    device.host = name.substr(0, slash);
    name.remove_prefix(slash + 1);
  }
  if (const auto colon = name.find(':'); colon != std::string_view::npos) {
    const auto index = parse_index(name.substr(colon + 1));
    if (!index) return std::nullopt;
    device.index = *index;
    name = name.substr(0, colon);
  }
  if (!is_kind(name)) return std::nullopt;
  device.kind = name;
  return device;
}

std::string placement_name(const Placement& placement) {
  std::vector<std::string> devices;
  for (const DeviceId& device : placement.devices) devices.push_back(device_name(device));
  const std::string processes = placement.processes == 1 ? "" : fmt::format("{}p:", placement.processes);
  return processes + join(devices, "+");
}

std::optional<Placement> placement_from(std::string_view name) {
  Placement placement;
  if (const auto mark = name.find("p:"); mark != std::string_view::npos && name.find_first_not_of("0123456789") == mark) {
    const auto processes = parse_index(name.substr(0, mark));
    if (!processes || *processes == 0) return std::nullopt;
    placement.processes = *processes;
    name.remove_prefix(mark + 2);
  }
  placement.devices.clear();
  for (const std::string& part : split(name, '+')) {
    const auto device = device_from(part);
    if (!device) return std::nullopt;
    placement.devices.push_back(*device);
  }
  return placement;
}

bool is_momentary(std::string_view fact) {
  constexpr std::array<std::string_view, 5> endings{".available_bytes", ".free_bytes", "used_bytes", ".uptime_s", ".load_average"};
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) { return fact.ends_with(ending); });
}

std::string options_text(const Point& point) {
  std::string text;
  for (const auto& [key, value] : point.options) {
    if (!text.empty()) text += ';';
    text += key + "=" + value;
  }
  return text;
}

}  // namespace deepgap
