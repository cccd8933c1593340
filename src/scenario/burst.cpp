// Scenario `burst`: every `interval` a burst of `size` queries, all due at once: a shelf of cameras with one trigger, a batch job that
// wakes up. The first burst is at the beginning. (`bursty` is a random process whose rate changes; here nothing is drawn.)
#include "scenario/open_loop.h"

namespace deepgap {
namespace {

// Burst k at k * interval, whole nanoseconds: nothing drifts.
class BurstArrivals final : public Arrivals {
 public:
  BurstArrivals(Nanoseconds interval, int64_t size) : interval_(interval), size_(size), left_(size) {}
  Nanoseconds next() override {
    if (left_ == 0) {
      left_ = size_;
      at_ = at_ < never - interval_ ? at_ + interval_ : never;  // a time beyond the clock's range never comes
    }
    if (at_ != never) --left_;
    return at_;
  }

 private:
  Nanoseconds interval_;
  int64_t size_, left_;  // queries of the burst at at_ that are to come
  Nanoseconds at_ = 0;
};

class BurstScenario final : public ArrivalScenarioOf<BurstScenario> {
 public:
  std::string name() const override { return "burst"; }
  std::string describe() const override { return "every `interval`, `size` queries come at once"; }
  ScenarioTraits traits() const override { return {LoadAxis{"size", "queries a burst"}, false}; }
  static OptionTable<BurstScenario> table() {
    OptionTable<BurstScenario> table;
    table.duration("interval", "time from one burst to the next", &BurstScenario::interval_, 1000);
    table.count("size", "queries of a burst, all due at once", &BurstScenario::size_, 1, 1'000'000);
    add_in_flight(table);
    return table;
  }

 protected:
  std::unique_ptr<Arrivals> make_arrivals() const override { return std::make_unique<BurstArrivals>(interval_, size_); }

 private:
  Nanoseconds interval_ = 100'000'000;
  int64_t size_ = 10;
};

const bool registered = add_scenario<BurstScenario>();

}  // namespace
}  // namespace deepgap
