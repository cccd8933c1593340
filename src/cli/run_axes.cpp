#include "cli/run_axes.h"

#include "base/option_values.h"
#include "base/registry.h"
#include "cli/run_feature.h"
#include "plan/point_fields.h"
#include "scenario/scenario.h"
#include "worker/point_options.h"
#include "worker/run_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace deepgap {
namespace {

constexpr AxisFlag own_axes[] = {
    {"-m,--model,--onnx", "Models: zoo names (deepgap models), ONNX or GGUF files. A list makes an axis, as for all flags of this group"},
    {"-e,--backend"},
    {"-d,--device"},
    {"-p,--precision"},
    {"-b,--batch,--batch-size"},
    {"-s,--scenario"},
    {"--rate", "Offered queries a second: server, constant, bursty"},
    {"--clients", "Clients that each wait for their answer: concurrency"},
    {"--trace", "File of arrival times: trace"},
    {"--reference"},
    {"--bound,--slo"},
    {"--dataset,--prompts"},
    {"--labels"},
    {"-w,--weights"},
    {"-t,--threads"},
    {"--streams"},
    {"--processes"},
    {"--instances"},
    {"--max-batch"},
    {"--max-delay"},
    {"--queue-limit"},
    {"--shed"},
    {"--power"},
    {"--end-to-end"},
    {"--decode-threads"},
    {"--task"},
    {"--prompt-tokens"},
    {"--output-tokens"},
    {"--shared-prefix-tokens"},
    {"--prompt-reuse"},
    {"--isa", "Newest instruction set that the native engine may use: auto, avx2, avx512, avx512_vnni, avx512_bf16, amx [default: auto]"},
};

}  // namespace

std::span<const AxisFlag> run_axes() {
  static const std::vector<AxisFlag> axes = [] {
    std::vector<AxisFlag> all(std::begin(own_axes), std::end(own_axes));
    const auto& features = Registry<RunFeature>::instance();
    for (const std::string& name : features.names()) {
      const std::span<const AxisFlag> own = features.make("feature", name)->axes();
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }();
  return axes;
}

std::string axis_of_flag(std::string flag) {
  flag.erase(0, flag.find_first_not_of('-'));
  std::replace(flag.begin(), flag.end(), '-', '_');
  return flag;
}

std::string flag_of_axis(std::string axis) {
  std::replace(axis.begin(), axis.end(), '_', '-');
  return "--" + axis;
}

const OptionInfo* axis_info(const std::string& axis) {
  for (const auto* options : {&point_fields().infos(), &worker_options()})
    if (const OptionInfo* option = find_option(*options, axis)) return option;
  for (const auto& [name, rules] : all_rules())
    if (const OptionInfo* option = find_option(rules->options(), axis)) return option;
  return nullptr;
}

std::string axis_help() {
  std::string text = "Options for --axis, besides those of the engine (deepgap backends) and of the scenario:\n";
  for (const OptionInfo& option : worker_options()) text += fmt::format("  {:<21}  {}\n", option.name, described(option));
  text += "NAME.OPTION=LIST applies to engine NAME only.\n\nScenarios and their options:\n";
  const auto& scenarios = Registry<Scenario>::instance();
  for (const std::string& name : scenarios.names()) {
    const auto scenario = scenarios.make("scenario", name);
    text += fmt::format("  {:<21}  {}\n", name, scenario->describe());
    for (const OptionInfo& option : scenario->options()) text += fmt::format("    {:<19}  {}\n", option.name, described(option));
  }
  return text;
}

}  // namespace deepgap
