// `deepgap __worker`: the process that measures. Started by `deepgap run`, with its channel as descriptor 3.
#include "analysis/metric.h"
#include "base/subprocess.h"
#include "build_state.h"
#include "cli/command.h"
#include "worker/worker_main.h"

namespace deepgap {
namespace {

class WorkerCommand final : public Command {
 public:
  std::string name() const override { return worker_command; }
  std::string describe() const override { return "Measures one group of points (for `run`)"; }
  bool hidden() const override { return true; }
  void declare(CLI::App& /*app*/) override {}
  int run() override { return worker_main(channel_descriptor, {DEEPGAP_VERSION, DEEPGAP_GIT_STATE}, compute_metrics); }
};

const bool registered = Registry<Command>::instance().add(worker_command, [] { return std::make_unique<WorkerCommand>(); });

}  // namespace
}  // namespace deepgap
