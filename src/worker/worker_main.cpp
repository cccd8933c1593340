#include "worker/worker_main.h"

#include "record/record_json.h"
#include "record/timing_block.h"
#include "worker/inspect.h"
#include "worker/measure.h"
#include "worker/memory_limit.h"
#include "worker/order.h"
#include "worker/protocol.h"
#include "worker/provide_reference.h"
#include "worker/turns.h"

#include <deepgap/clock.h>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <new>
#include <utility>

namespace deepgap {
namespace {

std::atomic<bool> interrupted{false};
std::atomic<Clock*> waited_on{nullptr};  // clock of the order under way
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<Clock*>::is_always_lock_free, "used in a signal handler");

// A loop that waits for an answer looks at `interrupted` when its clock wakes it. An answer may take a minute, so it is woken at once:
// notify() is an atomic exchange and a system call.
void on_terminate(int /*number*/) {
  const int error = errno;
  interrupted.store(true);
  if (Clock* clock = waited_on.load()) clock->notify();
  errno = error;
}

void prepare_process(int channel) {
  struct sigaction action {};
  action.sa_handler = on_terminate;
  ::sigaction(SIGTERM, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::fcntl(channel, F_SETFD, FD_CLOEXEC);  // what an engine starts must not hold the channel open
  // When memory runs out, the kernel shall take the worker, not the parent with the Store. Raising one's own score needs no right.
  const int score = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score >= 0) {
    [[maybe_unused]] const ssize_t written = ::write(score, "500", 3);  // not allowed: nothing is lost
    ::close(score);
  }
}

bool only_cpu(const Placement& placement) {
  return std::all_of(placement.devices.begin(), placement.devices.end(), [](const DeviceId& device) { return device.kind == "cpu"; });
}

Frame record_frame(Record record) {
  Frame frame{{{"kind", "record"}}, {encode_timings(record.timings), encode_series(record.series)}};
  frame.header["record"] = record_to_json(record);
  return frame;
}

Frame answer_run(const WorkOrder& order, Group& group, Heartbeat& heartbeat, Turns& turns, const std::function<void(Record&)>& complete) {
  waited_on.store(&group.clock(order));
  auto record = measure(order, group, heartbeat, turns, interrupted);
  if (!record) return {{{"kind", "needs_reference"}}, {}};
  complete(*record);
  return record_frame(std::move(*record));
}

Frame answer_reference(const WorkOrder& order, Group& group, Heartbeat& heartbeat) {
  std::string unavailable;
  bool wrong_input = false;  // the samples or the model contradict themselves
  try {
    provide_reference(order, group, heartbeat);
  } catch (const std::bad_alloc&) {
    unavailable = "memory does not suffice to make it";
  } catch (const Error& error) {
    unavailable = error.what();
    wrong_input = error.kind() == ErrorKind::input;
  } catch (const std::exception& error) {
    unavailable = error.what();
  }
  return {{{"kind", "reference"}, {"unavailable", unavailable}, {"wrong_input", wrong_input}}, {}};
}

}  // namespace

int worker_main(int channel, const ProgramState& program, const std::function<void(Record&)>& complete) {
  prepare_process(channel);
  FrameWriter writer(channel);
  FrameReader reader(channel);
  Heartbeat heartbeat([&](const Frame& frame) { writer.write(frame); }, {});
  Group group(heartbeat, program);
  ChannelTurns turns(reader, writer);
  bool limited = false;
  while (const auto request = reader.read()) {
    const std::string kind = request->header.value("kind", "");
    if (kind == "inspect") {
      serve_inspection(*request, writer);
    } else {
      const WorkOrder order = order_from_json(request->header.at("order"));
      // Once: later this process has memory itself, which is not available and yet its own.
      if (only_cpu(order.point.placement) && !std::exchange(limited, true)) limit_memory();
      writer.write(kind == "reference" ? answer_reference(order, group, heartbeat) : answer_run(order, group, heartbeat, turns, complete));
    }
    heartbeat.enter("idle");
  }
  // Engines have threads and destructors that do not always end well: everything of ours is written, so the process just ends.
  ::_exit(0);
}

}  // namespace deepgap
