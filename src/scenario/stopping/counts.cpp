// Stopping `counts`: a fixed number of queries, as published protocols ask.
#include "scenario/stopping/metered.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {
namespace {

class CountsStopping final : public MeteredStopping {
 public:
  CountsStopping(int64_t iterations, int64_t round) : MeteredStopping(round), iterations_(iterations) {}
  std::string name() const override { return "counts"; }
  State state() const override { return meter_.count() >= iterations_ ? State::enough : State::more; }
  std::string reason() const override { return state() == State::more ? "" : fmt::format("{} iterations", iterations_); }

 private:
  int64_t iterations_;
};

class CountsRule final : public StoppingRule {
 public:
  std::unique_ptr<Stopping> make(const StoppingSettings& settings, int64_t round) const override {
    if (settings.iterations.value_or(0) < 1) {
      throw Error(ErrorKind::usage, "stopping 'counts' needs a number of iterations of at least 1; give --iterations");
    }
    return std::make_unique<CountsStopping>(*settings.iterations, round);
  }
};

const bool registered = Registry<StoppingRule>::instance().add("counts", [] { return std::make_unique<CountsRule>(); });

}  // namespace
}  // namespace deepgap
