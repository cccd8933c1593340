#include "run/hold_devices.h"

#include "base/console.h"
#include "base/text.h"
#include "run/progress.h"
#include "run/text_table.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {
namespace {

constexpr Nanoseconds look_again_after = 500'000'000;

std::string busy_words(const DeviceLockOwner& owner) {
  return fmt::format("{} is in use by another run, {}", owner.device, owner_words(owner));
}

void wait_for(HeldDevices& held, DeviceLockOwner owner, WorkerHost& host, std::FILE* out) {
  for (int64_t shown_pid = -1;;) {
    if (owner.pid != shown_pid)
      say(out, wrapped_lines(fmt::format("deepgap: {}; waiting until it ends (--busy share does not wait)\n", busy_words(owner)),
                             terminal_columns(out)));
    shown_pid = owner.pid;
    if (host.wait({}, host.now() + look_again_after) || host.interrupts() > 0) {
      held.interrupted = true;
      return;
    }
    auto next = held.locks->take();
    if (!next) return;
    owner = std::move(*next);
  }
}

}  // namespace

HeldDevices hold_devices(const std::set<DeviceId>& devices, const LockSettings& settings, const std::string& store, WorkerHost& host,
                         std::FILE* out) {
  HeldDevices held;
  if (settings.folder.empty()) return held;
  std::optional<DeviceLockOwner> owner;
  try {
    held.locks = std::make_unique<DeviceLocks>(settings.folder, locked_devices(devices, settings), store);
    if (settings.when_busy == WhenBusy::share) {
      held.shared = held.locks->take_what_is_free();
      return held;
    }
    owner = held.locks->take();
  } catch (const Error& error) {
    say(out, fmt::format("deepgap: note: {}: cannot see whether another run measures on the same device\n", error.what()));
    held.locks.reset();
    return held;
  }
  if (!owner) return held;
  if (settings.when_busy == WhenBusy::refuse)
    throw Error(ErrorKind::input, fmt::format("{}; leave --busy refuse out to wait for its end", busy_words(*owner)));
  wait_for(held, std::move(*owner), host, out);
  return held;
}

}  // namespace deepgap
