// Scenario `constant`: queries at a fixed rate, as cameras and sensors send them.
#include "scenario/open_loop.h"

namespace deepgap {
namespace {

class ConstantScenario final : public ArrivalScenario {
 public:
  std::string name() const override { return "constant"; }
  std::string describe() const override { return "queries come evenly, `rate` a second"; }
  ScenarioTraits traits() const override { return {.load_axis = LoadAxis{"rate", "queries a second"}}; }

 protected:
  std::vector<ScenarioOption> arrival_options() const override { return {{"rate", "queries a second", ""}}; }
  void parse_arrivals(const ScenarioOptions& options) override { rate_ = rate_option(options, name()); }
  std::unique_ptr<Arrivals> make_arrivals() const override { return std::make_unique<ConstantArrivals>(rate_); }

 private:
  double rate_ = 0;
};

const bool registered = add_scenario<ConstantScenario>();

}  // namespace
}  // namespace deepgap
