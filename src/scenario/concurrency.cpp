// Scenario `concurrency`: a closed loop of clients. Each sends a query, waits for the answer, thinks, and sends the next; latency counts
// from when it sent, so it holds the time that a query waits for room in the Target.
#include "scenario/open_loop.h"

#include <deepgap/error.h>

#include <functional>
#include <queue>
#include <vector>

namespace deepgap {
namespace {

struct Clients {
  int64_t count = 0;
  Nanoseconds think_time = 0;
  bool random = false;  // exponentially distributed with that mean
  uint64_t seed = 1;
};

// Each client has thought once before it begins.
class ClientSchedule final : public Schedule {
 public:
  explicit ClientSchedule(const Clients& clients) : clients_(clients), random_(clients.seed, "think times") {
    for (int64_t i = 0; i < clients.count; ++i) answered(0);
  }
  Nanoseconds due() const override { return ready_.empty() ? never : ready_.top(); }
  void take() override { ready_.pop(); }
  void answered(Nanoseconds end) override {
    const auto mean = static_cast<double>(clients_.think_time);
    ready_.push(end + (clients_.random ? static_cast<Nanoseconds>(mean * random_.exponential()) : clients_.think_time));
  }

 private:
  Clients clients_;
  RandomStream random_;
  std::priority_queue<Nanoseconds, std::vector<Nanoseconds>, std::greater<>> ready_;  // when each client that thinks will send
};

class ConcurrencyScenario final : public WithOptions<ConcurrencyScenario> {
 public:
  std::string name() const override { return "concurrency"; }
  std::string describe() const override { return "`clients` that each send a query, wait for it, and think for `think_time`"; }
  ScenarioTraits traits() const override { return {.load_axis = LoadAxis{"clients", "clients"}, .draws_arrivals = true}; }
  static OptionTable<ConcurrencyScenario> table() {
    OptionTable<Clients> clients;
    clients.count("clients", "number of clients", &Clients::count, 1, 1'000'000);
    clients.duration("think_time", "pause between an answer and the client's next query", &Clients::think_time, 0);
    clients.choice("think", "distribution of pauses: fixed, or exponential with think_time as its mean", &Clients::random,
                   {{"fixed", false}, {"exponential", true}});
    clients.count("seed", "seed of exponential pauses", &Clients::seed, 0);
    OptionTable<OpenLoopSettings> loop;
    loop.count("in_flight", in_flight_by_slots, &OpenLoopSettings::in_flight, 1, most_in_flight);
    OptionTable<ConcurrencyScenario> table;
    return table.part(&ConcurrencyScenario::clients_, clients).part(&ConcurrencyScenario::settings_, loop);
  }
  int64_t in_flight() const override { return std::max<int64_t>(settings_.in_flight, 1); }
  bool uses_all_slots() const override { return settings_.in_flight == 0; }
  Nanoseconds default_duration() const override { return 10'000'000'000; }
  void drive(const Traffic& traffic, Clock& clock, const std::atomic<bool>& interrupted) override {
    drive_open_loop(traffic, clock, interrupted, settings_, [this] { return std::make_unique<ClientSchedule>(clients_); });
  }

 private:
  void check_options() const override {
    if (clients_.count == 0) throw Error(ErrorKind::usage, "scenario concurrency needs a number of clients: give --clients 8");
  }

  Clients clients_;
  OpenLoopSettings settings_{.finish_due = false};
};

const bool registered = add_scenario<ConcurrencyScenario>();

}  // namespace
}  // namespace deepgap
