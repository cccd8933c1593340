#include "cli/backend_rows.h"

#include "base/subprocess.h"
#include "base/text.h"
#include "worker/plugin.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <string_view>

namespace deepgap {
namespace {

using nlohmann::json;

constexpr std::chrono::seconds patience{30};  // loading a large engine from a cold disk

std::string form_name(ModelForm form) {
  switch (form) {
    case ModelForm::graph:
      return "graph";
    case ModelForm::onnx:
      return "onnx";
    case ModelForm::file:
      return "file";
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

// What came over the channel since the last look; never waits.
void take_answer(const Subprocess& child, std::string& answer) {
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::recv(child.channel(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (got <= 0) return;
    answer.append(buffer, static_cast<size_t>(got));
  }
}

// The last line that the child printed is nearly always the reason.
std::string last_words(const Subprocess& child) {
  const auto lines = split(trim(child.output_tail()), '\n');
  return lines.back().empty() ? "" : ": " + lines.back();
}

json inspect(const std::string& name) {
  SubprocessOptions options;
  options.program = "/proc/self/exe";
  options.arguments = {"deepgap", inspect_command, name};
  options.channel = true;
  Subprocess child(options);
  std::string answer;
  std::optional<ExitState> ended;
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!ended && std::chrono::steady_clock::now() < deadline) {
    ended = child.wait(std::chrono::milliseconds(5));
    take_answer(child, answer);
  }
  take_answer(child, answer);
  if (!ended) return unavailable(name, fmt::format("did not answer within {} s", patience.count()));
  json row = json::parse(answer, nullptr, false);
  // An engine that breaks while its process ends has answered all the same.
  if (!row.is_discarded()) return row;
  return unavailable(name, ended->describe() + last_words(child));
}

}  // namespace

json describe_backend(const std::string& name) {
  const auto plugin = open_plugin(name);
  const Backend& backend = plugin->backend();
  json devices = json::array(), options = json::array();
  for (const DeviceInfo& device : backend.devices()) devices.push_back(device_row(device));
  for (const OptionInfo& option : backend.options()) {
    options.push_back(
        {{"name", option.name}, {"describe", option.describe}, {"default", option.default_value}, {"process_wide", option.process_wide}});
  }
  return {{"name", backend.name()}, {"available", true}, {"version", backend.version()}, {"form", form_name(backend.form())},
          {"devices", devices},     {"options", options}};
}

json backend_rows() {
  json rows = json::array();
  for (const std::string& name : plugin_names()) rows.push_back(inspect(name));
  for (const AbsentBackend& absent : absent_backends()) rows.push_back(unavailable(absent.name, absent.reason));
  return rows;
}

}  // namespace deepgap
