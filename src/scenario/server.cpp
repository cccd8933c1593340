// Scenario `server`: requests of many users who know nothing of each other, a Poisson process (MLPerf's Server).
#include "scenario/open_loop.h"

namespace deepgap {
namespace {

class ServerScenario final : public ArrivalScenarioOf<ServerScenario> {
 public:
  std::string name() const override { return "server"; }
  std::string describe() const override { return "queries come at random, `rate` a second on average (Poisson)"; }
  ScenarioTraits traits() const override {
    return {.load_axis = LoadAxis{"rate", "queries a second"}, .draws_arrivals = true, .poisson = true};
  }
  static OptionTable<ServerScenario> table() {
    OptionTable<ServerScenario> table;
    add_rate(table, "queries a second on average", &ServerScenario::rate_);
    table.count("seed", "seed of the arrival times", &ServerScenario::seed_, 0);
    add_in_flight(table);
    return table;
  }

 protected:
  void check_options() const override { require_rate(rate_, name()); }
  std::unique_ptr<Arrivals> make_lead_arrivals() const override { return std::make_unique<PoissonArrivals>(rate_, lead_seed(seed_)); }
  std::unique_ptr<Arrivals> make_arrivals() const override { return std::make_unique<PoissonArrivals>(rate_, seed_); }

 private:
  double rate_ = 0;
  uint64_t seed_ = 1;
};

const bool registered = add_scenario<ServerScenario>();

}  // namespace
}  // namespace deepgap
