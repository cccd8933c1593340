// Stopping `schedule`: never enough: the scenario ends by itself, as a trace does, or `offline` after its samples. What was to be
// measured is given, as under `counts`: no interval is asked, and the window is judged like theirs where its load does not judge it.
#include "scenario/stopping/metered.h"

namespace deepgap {
namespace {

class ScheduleStopping final : public MeteredStopping {
 public:
  using MeteredStopping::MeteredStopping;
  std::string name() const override { return "schedule"; }
  State state() const override { return State::more; }
  std::string reason() const override { return {}; }
};

class ScheduleRule final : public StoppingRule {
 public:
  std::unique_ptr<Stopping> make(const StoppingSettings& /*settings*/, int64_t round) const override {
    return std::make_unique<ScheduleStopping>(round);
  }
};

const bool registered = Registry<StoppingRule>::instance().add("schedule", [] { return std::make_unique<ScheduleRule>(); });

}  // namespace
}  // namespace deepgap
