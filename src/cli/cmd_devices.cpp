// `deepgap devices`: the CPU and the GPUs of this machine, and the engines here that can run on them.
#include "base/dump_json.h"
#include "cli/backend_rows.h"
#include "cli/command.h"
#include "cli/device_text.h"
#include "cli/engine_flags.h"
#include "cli/gpu_copies_child.h"
#include "cli/gpu_links_text.h"
#include "cli/gpus_child.h"
#include "cli/libtorch_folder.h"
#include "record/record_json.h"
#include "run/progress.h"
#include "telemetry/environment.h"

#include <fmt/format.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace deepgap {
namespace {

using nlohmann::json;

json cpu_row() {
  struct sysinfo info {};
  const bool known = ::sysinfo(&info) == 0;
  const Facts facts = capture_environment();
  return {{"device", "cpu"},
          {"available", true},
          {"name", facts_to_json(facts)["cpu.model"]},
          {"cores", ::sysconf(_SC_NPROCESSORS_ONLN)},
          {"allowed_cores", allowed_cpus().size()},
          {"sockets", facts_to_json(facts)["cpu.sockets"]},
          {"physical_cores", facts_to_json(facts)["cpu.cores"]},
          {"numa_nodes", facts_to_json(facts)["cpu.numa_nodes"]},
          {"memory_bytes", known ? json(static_cast<int64_t>(info.totalram) * info.mem_unit) : json(nullptr)},
          {"backends", json::array()}};
}

// Adds a row for each GPU that the driver reports; without a GPU, a row that says why.
void add_gpus(const GpuInventory& inventory, bool anonymous, json& rows) {
  if (inventory.gpus.empty()) rows.push_back({{"device", "cuda"}, {"available", false}, {"reason", inventory.reason}});
  for (size_t i = 0; i < inventory.gpus.size(); ++i) {
    json facts = facts_to_json(inventory.gpus[i]);
    if (anonymous) facts.erase("uuid");
    const json memory = facts["memory_bytes"].is_number() ? facts["memory_bytes"] : json(nullptr);
    rows.push_back({{"device", fmt::format("cuda:{}", i)},
                    {"available", true},
                    {"name", facts["name"]},
                    {"memory_bytes", memory},
                    {"driver", facts_to_json(inventory.driver)},
                    {"gpu", facts},
                    {"backends", json::array()}});
    if (!inventory.note.empty()) rows.back()["note"] = inventory.note;
  }
}

// Adds devices that the driver did not report; the first backend that knows one names it.
void add_backends(const json& backends, json& rows) {
  for (const json& backend : backends) {
    if (!backend["available"].get<bool>()) continue;
    for (const json& device : backend["devices"]) {
      auto row = std::find_if(rows.begin(), rows.end(), [&](const json& known) { return known["device"] == device["device"]; });
      if (row == rows.end()) {
        rows.push_back(device);
        row = rows.end() - 1;
        (*row)["available"] = true;
        (*row)["backends"] = json::array();
      }
      if (device.contains("properties")) (*row)["properties"].update(device["properties"]);
      (*row)["backends"].push_back(backend["name"]);
    }
  }
}

class DevicesCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_flag("--copies", copies_, "Measure the copy rates of the GPUs, and keep them for later results and reports");
    app.add_option("--cache", cache_, "Keep copy rates in this folder [default: ~/.cache/deepgap]")->type_name("DIR");
    app.add_flag("--json", json_, "Print JSON");
    app.add_flag("--anonymous", anonymous_, "Leave out the UUIDs of the GPUs");
    declare_libtorch_folder(app);
  }
  int run() override {
    json rows = json::array({cpu_row()});
    GpuInventory inventory = ask_for_gpus();
    if (copies_) measure_gpu_copies(inventory, cache_or_default(cache_));
    add_kept_copies(cache_or_default(cache_), inventory);
    add_gpus(inventory, anonymous_, rows);
    add_backends(backend_rows(), rows);
    if (json_) {
      fmt::print("{}", dump_indented(rows));
      return exit_ok;
    }
    for (const json& row : rows) print_wrapped(device_text(row));
    fmt::print("{}", gpu_links_text(rows));
    return exit_ok;
  }

 private:
  std::string cache_;
  bool copies_ = false, json_ = false, anonymous_ = false;
};

const bool registered = add_command<DevicesCommand>({"devices",
                                                     {CommandGroup::system, 2},
                                                     "List the CPU and GPUs of this machine, and the engines that can use them",
                                                     "  deepgap devices\n"
                                                     "  deepgap devices --copies                measure PCIe and NVLink\n"
                                                     "  deepgap devices --json --anonymous      safe to share\n"});

}  // namespace
}  // namespace deepgap
