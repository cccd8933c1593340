// Scenario `constant`: queries at a fixed rate, as cameras and sensors send them.
#include "scenario/open_loop.h"

namespace deepgap {
namespace {

class ConstantScenario final : public ArrivalScenarioOf<ConstantScenario> {
 public:
  std::string name() const override { return "constant"; }
  std::string describe() const override { return "queries come evenly, `rate` a second"; }
  ScenarioTraits traits() const override { return {.load_axis = LoadAxis{"rate", "queries a second"}}; }
  static OptionTable<ConstantScenario> table() {
    OptionTable<ConstantScenario> table;
    add_rate(table, "queries a second", &ConstantScenario::rate_);
    add_in_flight(table);
    return table;
  }

 protected:
  void check_options() const override { require_rate(rate_, name()); }
  std::unique_ptr<Arrivals> make_arrivals() const override { return std::make_unique<ConstantArrivals>(rate_); }

 private:
  double rate_ = 0;
};

const bool registered = add_scenario<ConstantScenario>();

}  // namespace
}  // namespace deepgap
