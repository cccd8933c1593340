// Stopping: when a run has enough. One file per rule, by registrar under its name; `make_stopping` applies the Point's settings.
#pragma once

#include <deepgap/record.h>

#include <memory>
#include <span>
#include <string>

namespace deepgap {

class Stopping {
 public:
  enum class State { more, enough, exhausted };  // exhausted: the budget ended first -> `unstable`

  virtual ~Stopping() = default;
  virtual std::string name() const = 0;
  // Timings as they complete, in order of completion. Called by the scenario's thread.
  virtual void add(std::span<const Timing> timings) = 0;
  virtual State state() const = 0;
  virtual std::string reason() const = 0;   // in words, once not `more`: "throughput +-3.1% at the budget of 30 s, asked 1%"
  virtual Estimate throughput() const = 0;  // items a second with its interval, so far
};

std::unique_ptr<Stopping> make_stopping(const StoppingSettings& settings);
// Ends the warm-up: after `warmup` queries where that is fixed, else when a steady state is seen (docs/method.md) or at warmup_budget.
std::unique_ptr<Stopping> make_warmup(const StoppingSettings& settings);

}  // namespace deepgap
