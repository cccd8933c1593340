// Scenario `burst`: every `interval` a burst of `size` queries, all due at once: a shelf of cameras with one trigger, a batch job that
// wakes up. The first burst is at the beginning. (`bursty` is a random process whose rate changes; here nothing is drawn.)
#include "scenario/open_loop.h"

namespace deepgap {
namespace {

constexpr Nanoseconds usual_interval = 100'000'000;
constexpr int64_t usual_size = 10, most_size = 1'000'000;

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

class BurstScenario final : public ArrivalScenario {
 public:
  std::string name() const override { return "burst"; }
  std::string describe() const override { return "every `interval`, `size` queries come at once"; }
  ScenarioTraits traits() const override { return {LoadAxis{"size", "queries a burst"}, false}; }

 protected:
  std::vector<ScenarioOption> arrival_options() const override {
    return {{"interval", "time from one burst to the next", "100ms"}, {"size", "queries of a burst, all due at once", "10"}};
  }
  void parse_arrivals(const ScenarioOptions& options) override {
    interval_ = time_option(options, "interval", 1000, usual_interval);
    size_ = whole_option(options, "size", 1, most_size, usual_size);
  }
  std::unique_ptr<Arrivals> make_arrivals() const override { return std::make_unique<BurstArrivals>(interval_, size_); }

 private:
  Nanoseconds interval_ = usual_interval;
  int64_t size_ = usual_size;
};

const bool registered = add_scenario<BurstScenario>();

}  // namespace
}  // namespace deepgap
