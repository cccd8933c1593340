// `deepgap devices`: what the engines that are here can run on.
#include "base/text.h"
#include "cli/backend_rows.h"
#include "cli/command.h"
#include "cli/libtorch_folder.h"
#include "telemetry/environment.h"

#include <fmt/format.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>

namespace deepgap {
namespace {

using nlohmann::json;

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return trim(line.substr(line.find(':') + 1));
  }
  return "CPU";
}

json cpu_row() {
  struct sysinfo info {};
  const bool known = ::sysinfo(&info) == 0;
  return {{"device", "cpu"},
          {"name", cpu_name()},
          {"cores", ::sysconf(_SC_NPROCESSORS_ONLN)},
          {"allowed_cores", allowed_cpus().size()},
          {"memory_bytes", known ? json(static_cast<int64_t>(info.totalram) * info.mem_unit) : json(nullptr)},
          {"backends", json::array()}};
}

// One row a device, the CPU first; the first backend that knows a device names it.
json device_rows(const json& backends) {
  json rows = json::array({cpu_row()});
  for (const json& backend : backends) {
    if (!backend["available"].get<bool>()) continue;
    for (const json& device : backend["devices"]) {
      auto row = std::find_if(rows.begin(), rows.end(), [&](const json& known) { return known["device"] == device["device"]; });
      if (row == rows.end()) {
        rows.push_back(device);
        row = rows.end() - 1;
        (*row)["backends"] = json::array();
      }
      (*row)["backends"].push_back(backend["name"]);
    }
  }
  return rows;
}

class DevicesCommand final : public Command {
 public:
  std::string name() const override { return "devices"; }
  std::string describe() const override { return "Devices to run on, and the engines that can"; }
  void declare(CLI::App& app) override {
    app.add_flag("--json", json_, "A list of objects, for programs");
    declare_libtorch_folder(app);
  }
  int run() override {
    const json rows = device_rows(backend_rows());
    if (json_) {
      fmt::print("{}\n", rows.dump(2));
      return exit_ok;
    }
    for (const json& row : rows) {
      const json& memory = row["memory_bytes"];
      const std::string cores =
          row.contains("cores") ? fmt::format(", {} of {} cores allowed", row["allowed_cores"].get<int>(), row["cores"].get<int>()) : "";
      fmt::print("{:<8}  {}{}{}\n", row["device"].get<std::string>(), row["name"].get<std::string>(), cores,
                 memory.is_null() ? "" : ", " + format_bytes(memory.get<double>()));
      fmt::print("{:<8}  backends: {}\n", "", join(row["backends"].get<std::vector<std::string>>(), ", "));
    }
    return exit_ok;
  }

 private:
  bool json_ = false;
};

const bool registered = Registry<Command>::instance().add("devices", [] { return std::make_unique<DevicesCommand>(); });

}  // namespace
}  // namespace deepgap
