// Scenario `server`: requests of many users who know nothing of each other, a Poisson process (MLPerf's Server).
#include "scenario/open_loop.h"

namespace deepgap {
namespace {

class ServerScenario final : public ArrivalScenario {
 public:
  std::string name() const override { return "server"; }
  std::string describe() const override { return "queries come at random, `rate` a second on average (Poisson)"; }
  ScenarioTraits traits() const override {
    return {.load_axis = LoadAxis{"rate", "queries a second"}, .draws_arrivals = true, .poisson = true};
  }

 protected:
  std::vector<ScenarioOption> arrival_options() const override {
    return {{"rate", "queries a second on average", ""}, {"seed", "seed of the arrival times", "1"}};
  }
  void parse_arrivals(const ScenarioOptions& options) override {
    rate_ = rate_option(options, name());
    seed_ = seed_option(options);
  }
  std::unique_ptr<Arrivals> make_lead_arrivals() const override { return std::make_unique<PoissonArrivals>(rate_, lead_seed(seed_)); }
  std::unique_ptr<Arrivals> make_arrivals() const override { return std::make_unique<PoissonArrivals>(rate_, seed_); }

 private:
  double rate_ = 0;
  uint64_t seed_ = 1;
};

const bool registered = add_scenario<ServerScenario>();

}  // namespace
}  // namespace deepgap
