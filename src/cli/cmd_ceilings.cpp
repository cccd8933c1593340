// deepgap ceilings: what a device does at most, measured, beside its data sheet.
#include "base/dump_json.h"
#include "cli/ceilings_text.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/machine_ceilings.h"
#include "record/record_json.h"
#include "run/progress.h"
#include "telemetry/environment.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace deepgap {
namespace {

class CeilingsCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("-d,--device", device_, "Measure this device: cpu, cuda:0")->type_name("NAME");
    app.add_option("--threads", threads_, "Use this many CPU threads [default: all allowed CPUs]")->type_name("N");
    app.add_option("--cache", cache_, "Keep results in this folder [default: ~/.cache/deepgap]")->type_name("DIR");
    app.add_flag("--fresh", fresh_, "Measure again instead of using kept results");
    app.add_flag("--json", json_, "Print JSON");
  }
  int run() override {
    const DeviceId device = device_of_flag(device_);
    const ShownCeilings machine =
        machine_ceilings({device, threads_or_all(threads_)}, capture_environment(), cache_or_default(cache_), fresh_);
    if (json_)
      fmt::print("{}", dump_indented(ceilings_table_json(device_name(device), machine)));
    else
      fmt::print("{}", ceilings_table(device_name(device), machine, terminal_columns(stdout)));
    return machine.missing.empty() ? exit_ok : exit_points_failed;
  }

 private:
  std::string device_ = "cpu", cache_;
  int threads_ = 0;
  bool fresh_ = false, json_ = false;
};

const bool registered =
    add_command<CeilingsCommand>({"ceilings",
                                  {CommandGroup::explain, 2},
                                  "Measure the peak performance of a device, and show it beside its data sheet",
                                  "  deepgap ceilings                   this CPU\n"
                                  "  deepgap ceilings --device cuda:0   a GPU: tensor cores, memory, caches, launches, copies\n"});

}  // namespace
}  // namespace deepgap
