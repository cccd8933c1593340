// Stopping: when a run has enough. One file per rule, by registrar under its name; `make_stopping` applies the Point's settings.
// docs/explanation/methodology.md says what each rule promises.
#pragma once

#include "base/registry.h"

#include <deepgap/record.h>

#include <memory>
#include <span>
#include <string>

namespace deepgap {

// The verdict of the whole window about itself at the end, whatever ended it (docs/explanation/methodology.md#verdicts).
struct WindowVerdict {
  Verdict verdict = Verdict::valid;  // the interval is within what was asked; or as_found, or unstable
  std::string reason;                // why it is unstable, in words
  std::string as_found;              // likewise: why nothing was judged but steadiness
  bool warming = false;              // only its beginning differs: it belonged to the warm-up
  bool only_wide = false;            // unstable because its interval is wider than asked, and steady
};

class Stopping {
 public:
  enum class State { more, enough, exhausted };  // exhausted: the budget ended first -> `unstable`

  virtual ~Stopping() = default;
  virtual std::string name() const = 0;
  // Timings as they complete, in order of completion. Called by the scenario's thread. Amortised constant time: what costs is looked at
  // only at points that grow geometrically.
  virtual void add(std::span<const Timing> timings) = 0;
  virtual State state() const = 0;
  virtual std::string reason() const = 0;   // in words, once not `more`: "throughput CI ±3.1 % after the budget of 30 s (target ±1 %)"
  virtual Estimate throughput() const = 0;  // items a second with its interval, so far
  // Valid where the rule judges nothing, as that of a warm-up.
  virtual WindowVerdict verdict() const { return {}; }
};

// Makes the Stopping of one rule. Throws Error{usage} when a setting it needs is missing or makes no sense.
class StoppingRule {
 public:
  virtual ~StoppingRule() = default;
  // `round`: queries of a round (Scenario::round()), at least 1.
  virtual std::unique_ptr<Stopping> make(const StoppingSettings& settings, int64_t round) const = 0;
};

// The settings' rule. Where another rule than `duration` has a duration too, the window is not shorter than that.
// Throws Error{usage} for an unknown rule, with "did you mean", and what StoppingRule::make throws.
std::unique_ptr<Stopping> make_stopping(const StoppingSettings& settings, int64_t round = 1);
// Ends the warm-up: after `warmup` queries where that is fixed, else when a steady state is seen (methodology.md) or at warmup_budget.
std::unique_ptr<Stopping> make_warmup(const StoppingSettings& settings, int64_t round = 1);

}  // namespace deepgap
