// Stopping `duration`: until the window is as long as asked. The query that passes the end is the last and counts; where several are in
// flight, so does the rest of its round: else the devices that were not waited for would have worked for nothing.
#include "base/text.h"
#include "scenario/stopping/metered.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {
namespace {

class DurationStopping final : public MeteredStopping {
 public:
  DurationStopping(Nanoseconds duration, int64_t round) : MeteredStopping(round), duration_(duration) {}
  std::string name() const override { return "duration"; }
  State state() const override {
    const bool passed = meter_.count() > 0 && meter_.length() >= duration_;
    return passed && meter_.whole_rounds() ? State::enough : State::more;
  }
  std::string reason() const override {
    return state() == State::more ? "" : fmt::format("{} passed with {} queries", format_duration(duration_), meter_.count());
  }

 private:
  Nanoseconds duration_;
};

class DurationRule final : public StoppingRule {
 public:
  std::unique_ptr<Stopping> make(const StoppingSettings& settings, int64_t round) const override {
    if (settings.duration.value_or(0) < 1) {
      throw Error(ErrorKind::usage, "stopping 'duration' needs a length of time above 0; give --duration, such as --duration 8s");
    }
    return std::make_unique<DurationStopping>(*settings.duration, round);
  }
};

const bool registered = Registry<StoppingRule>::instance().add("duration", [] { return std::make_unique<DurationRule>(); });

}  // namespace
}  // namespace deepgap
