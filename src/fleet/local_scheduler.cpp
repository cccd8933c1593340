// Scheduler `local`: this machine alone, its own node: one task at a time unless the user says that more do not disturb each other.
#include "base/registry.h"
#include "base/text.h"
#include "fleet/lanes.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {
namespace {

class LocalScheduler final : public LaneScheduler {
 public:
  std::vector<SchedulerOption> options() const override {
    return {{"max-jobs",
             "Concurrent tasks. local: they share the machine, so more than one is only for trying a study; slurm: of each array [default: "
             "local: 1]",
             "N"}};
  }
  double prepare(Fleet& fleet) override {
    std::string& jobs = fleet.options["max-jobs"];
    if (jobs.empty()) jobs = "1";
    const auto count = parse_int(jobs);
    if (!count || *count < 1 || *count > 4096)
      throw Error(ErrorKind::usage, fmt::format("invalid value '{}' for --max-jobs: expected a number of tasks from 1 to 4096", jobs));
    return 0;
  }
  void gather(const Fleet& /*fleet*/) override {}

 protected:
  std::vector<std::string> lanes(const Fleet& fleet) const override {
    std::vector<std::string> names;
    for (int64_t lane = 0; lane < parse_int(fleet.options.at("max-jobs")).value_or(1); ++lane)
      names.push_back(fmt::format("local-{}", lane));
    return names;
  }
  SubprocessOptions command(const Fleet& fleet, const std::string& /*lane*/, int task) override {
    SubprocessOptions options;
    options.program = fleet.program;
    options.arguments = {"deepgap", "fleet", "task", fleet.folder, std::to_string(task)};
    if (fleet.options.at("max-jobs") != "1") options.environment["DEEPGAP_LOCKS"] = "off";  // somebody said that they share the machine
    return options;
  }
};

const bool registered = Registry<Scheduler>::instance().add("local", [] { return std::make_unique<LocalScheduler>(); });

}  // namespace
}  // namespace deepgap
