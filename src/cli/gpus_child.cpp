#include "cli/gpus_child.h"

#include "cli/child.h"
#include "record/record_json.h"

#include <deepgap/error.h>

#include <nlohmann/json.hpp>

namespace deepgap {
namespace {

using nlohmann::json;

constexpr const char* gpus_command = "__gpus";
constexpr std::chrono::seconds timeout{20};  // a driver that is not kept loaded needs seconds for each GPU

json answer_gpus(const json& /*request*/, FrameWriter& /*before*/) {
  const GpuInventory inventory = inspect_gpus(load_nvml);
  json gpus = json::array();
  for (const Facts& gpu : inventory.gpus) gpus.push_back(facts_to_json(gpu));
  return {{"reason", inventory.reason}, {"note", inventory.note}, {"driver", facts_to_json(inventory.driver)}, {"gpus", gpus}};
}

const bool registered = add_child_command(gpus_command, answer_gpus);

}  // namespace

GpuInventory ask_for_gpus() {
  GpuInventory inventory;
  try {
    const json all = call_child({gpus_command, "the driver", json::object(), {}, timeout});
    inventory.reason = all.at("reason");
    inventory.note = all.at("note");
    inventory.driver = facts_from_json(all.at("driver"));
    for (const json& gpu : all.at("gpus")) inventory.gpus.push_back(facts_from_json(gpu));
  } catch (const Error& error) {
    inventory.reason = error.what();
  }
  return inventory;
}

}  // namespace deepgap
