#include "cli/backend_rows.h"

#include "base/option_values.h"
#include "cli/child.h"
#include "worker/plugin.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>

namespace deepgap {
namespace {

using nlohmann::json;

constexpr const char* backend_command = "__backend";
constexpr std::chrono::seconds timeout{30};  // loading a large engine from a cold disk

std::string form_name(ModelForm form) {
  switch (form) {
    case ModelForm::graph:
      return "graph";
    case ModelForm::remote:
      return "remote";
    case ModelForm::onnx:
      return "onnx";
  }
  return "?";
}

std::string kind_name(OptionKind kind) {
  switch (kind) {
    case OptionKind::text:
      return "text";
    case OptionKind::choice:
      return "choice";
    case OptionKind::count:
      return "count";
    case OptionKind::number:
      return "number";
    case OptionKind::duration:
      return "duration";
  }
  return "?";
}

json device_row(const DeviceInfo& device) {
  json row{{"device", device.id.kind == "cpu" ? "cpu" : fmt::format("{}:{}", device.id.kind, device.id.index)},
           {"name", device.name},
           {"memory_bytes", device.memory_bytes < 0 ? json(nullptr) : json(device.memory_bytes)}};
  row["properties"] = device.properties;
  return row;
}

json unavailable(const std::string& name, const std::string& reason) { return {{"name", name}, {"available", false}, {"reason", reason}}; }

json describe_backend(const std::string& name) {
  const auto plugin = open_plugin(name);
  const Backend& backend = plugin->backend();
  json devices = json::array(), options = json::array();
  for (const DeviceInfo& device : backend.devices()) devices.push_back(device_row(device));
  for (const OptionInfo& option : backend.options()) {
    options.push_back({{"name", option.name},
                       {"describe", option.describe},
                       {"default", option.default_value},
                       {"kind", kind_name(option.kind)},
                       {"values", allowed_values(option)},
                       {"process_wide", option.process_wide}});
  }
  return {{"name", backend.name()}, {"available", true}, {"version", backend.version()}, {"form", form_name(backend.form())},
          {"devices", devices},     {"options", options}};
}

const bool registered = add_child_command(
    backend_command, [](const json& request, FrameWriter& /*before*/) { return describe_backend(request.at("name").get<std::string>()); });

json ask_backend(const std::string& name) {
  try {
    return call_child({backend_command, "its plug-in", {{"name", name}}, {}, timeout});
  } catch (const Error& error) {
    return unavailable(name, error.what());
  }
}

}  // namespace

json backend_rows() {
  json rows = json::array();
  for (const std::string& name : plugin_names()) rows.push_back(ask_backend(name));
  for (const AbsentBackend& absent : absent_backends()) rows.push_back(unavailable(absent.name, absent.reason));
  return rows;
}

}  // namespace deepgap
