#include "cli/lock_settings.h"

#include "base/messages.h"
#include "cli/gpus_child.h"
#include "record/fact_values.h"
#include "telemetry/environment.h"

#include <deepgap/error.h>

#include <memory>
#include <optional>

namespace deepgap {

LockSettings lock_settings(WhenBusy when_busy) {
  const auto inventory = std::make_shared<std::optional<GpuInventory>>();
  return {lock_folder(), when_busy, allowed_cpus(), [inventory](int index) -> std::string {
            if (!*inventory) *inventory = ask_for_gpus();
            const auto place = static_cast<size_t>(index);
            if (place >= (*inventory)->gpus.size()) return {};
            const auto* uuid = fact_as<std::string>((*inventory)->gpus[place], "uuid");
            return uuid == nullptr || uuid->starts_with("not available") ? "" : *uuid;
          }};
}

WhenBusy when_busy_from(const std::string& text) {
  if (text == "wait") return WhenBusy::wait;
  if (text == "refuse") return WhenBusy::refuse;
  if (text == "share") return WhenBusy::share;
  throw Error(ErrorKind::usage, invalid_choice(text, "--busy", {"wait", "refuse", "share"}));
}

}  // namespace deepgap
