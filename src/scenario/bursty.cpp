// Scenario `bursty`: load that comes and goes: on/off with fixed lengths, or a two-state Markov-modulated Poisson process.
#include "scenario/open_loop.h"

namespace deepgap {
namespace {

class BurstyScenario final : public ArrivalScenario {
 public:
  std::string name() const override { return "bursty"; }
  std::string describe() const override { return "queries come at random and in bursts, `rate` a second on average"; }
  ScenarioTraits traits() const override { return {.load_axis = LoadAxis{"rate", "queries a second"}, .draws_arrivals = true}; }

 protected:
  std::vector<ScenarioOption> arrival_options() const override {
    return {{"rate", "queries a second on average over bursts and pauses", ""},
            {"bursts", "lengths of bursts and pauses: fixed, or markov (exponentially distributed)", "fixed"},
            {"burst_time", "length of a burst, or its mean", "100ms"},
            {"pause_time", "length of a pause, or its mean", "400ms"},
            {"pause_share", "rate in a pause over that in a burst", "0"},
            {"seed", "seed of the arrival times", "1"}};
  }
  void parse_arrivals(const ScenarioOptions& options) override {
    settings_.rate = rate_option(options, name());
    settings_.on = time_option(options, "burst_time", 1000, 100'000'000);
    settings_.off = time_option(options, "pause_time", 1000, 400'000'000);
    settings_.low_share = share_option(options, "pause_share", 0);
    seed_ = seed_option(options);
    settings_.random_lengths = choice_option(options, "bursts", {"fixed", "markov"}) == "markov";
  }
  std::unique_ptr<Arrivals> make_lead_arrivals() const override {
    if (!settings_.random_lengths) return nullptr;  // with fixed lengths, a window has as many bursts as fit
    return std::make_unique<BurstyArrivals>(settings_, lead_seed(seed_));
  }
  std::unique_ptr<Arrivals> make_arrivals() const override { return std::make_unique<BurstyArrivals>(settings_, seed_); }

 private:
  BurstSettings settings_;
  uint64_t seed_ = 1;
};

const bool registered = add_scenario<BurstyScenario>();

}  // namespace
}  // namespace deepgap
