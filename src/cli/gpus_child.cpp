#include "cli/gpus_child.h"

#include "cli/child_answer.h"
#include "cli/command.h"
#include "record/record_json.h"

#include <nlohmann/json.hpp>

namespace deepgap {
namespace {

using nlohmann::json;

constexpr const char* gpus_command = "__gpus";
constexpr std::chrono::seconds patience{20};  // a driver that is not kept loaded needs seconds for each GPU

class GpusCommand final : public Command {
 public:
  std::string name() const override { return gpus_command; }
  std::string describe() const override { return "What the driver tells of the GPUs (for `devices` and `doctor`)"; }
  bool hidden() const override { return true; }
  void declare(CLI::App& /*app*/) override {}
  int run() override {
    const GpuInventory inventory = inspect_gpus(load_nvml);
    json gpus = json::array();
    for (const Facts& gpu : inventory.gpus) gpus.push_back(facts_to_json(gpu));
    answer_parent({{"reason", inventory.reason}, {"note", inventory.note}, {"driver", facts_to_json(inventory.driver)}, {"gpus", gpus}});
    return exit_ok;
  }
};

const bool registered = Registry<Command>::instance().add(gpus_command, [] { return std::make_unique<GpusCommand>(); });

}  // namespace

GpuInventory ask_for_gpus() {
  GpuInventory inventory;
  const ChildAnswer answer = ask_child({gpus_command}, patience);
  if (!answer.text) {
    inventory.reason = "the driver " + answer.reason;
    return inventory;
  }
  const json all = json::parse(*answer.text);
  inventory.reason = all.at("reason");
  inventory.note = all.at("note");
  inventory.driver = facts_from_json(all.at("driver"));
  for (const json& gpu : all.at("gpus")) inventory.gpus.push_back(facts_from_json(gpu));
  return inventory;
}

}  // namespace deepgap
