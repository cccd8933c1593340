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
  int run() override { return worker_main(channel_descriptor, {DEEPGAP_VERSION, DEEPGAP_GIT_STATE}, compute_metrics); }
};

const bool registered =
    add_command<WorkerCommand>({.name = worker_command, .describe = "Measures one group of points (for `run`)", .hidden = true});

}  // namespace
}  // namespace deepgap
