// Scenario `bursty`: load that comes and goes: on/off with fixed lengths, or a two-state Markov-modulated Poisson process.
#include "scenario/open_loop.h"

namespace deepgap {
namespace {

class BurstyScenario final : public ArrivalScenarioOf<BurstyScenario> {
 public:
  std::string name() const override { return "bursty"; }
  std::string describe() const override { return "queries come at random and in bursts, `rate` a second on average"; }
  ScenarioTraits traits() const override { return {.load_axis = LoadAxis{"rate", "queries a second"}, .draws_arrivals = true}; }
  static OptionTable<BurstyScenario> table() {
    OptionTable<BurstSettings> process;
    add_rate(process, "queries a second on average over bursts and pauses", &BurstSettings::rate);
    process.choice("bursts", "lengths of bursts and pauses: fixed, or markov (exponentially distributed)", &BurstSettings::random_lengths,
                   {{"fixed", false}, {"markov", true}});
    process.duration("burst_time", "length of a burst, or its mean", &BurstSettings::on, 1000);
    process.duration("pause_time", "length of a pause, or its mean", &BurstSettings::off, 1000);
    process.fraction("pause_share", "rate in a pause over that in a burst", &BurstSettings::low_share);
    OptionTable<BurstyScenario> table;
    table.part(&BurstyScenario::settings_, process);
    table.count("seed", "seed of the arrival times", &BurstyScenario::seed_, 0);
    add_in_flight(table);
    return table;
  }

 protected:
  void check_options() const override { require_rate(settings_.rate, name()); }
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
