// Measures the cost of the batch scenario itself: queries a target answers at once, inside submit(), and over the Clock as the null backend
// does. Prints nanoseconds a query, the median over rounds, beside the limit of 1 us.
//   scenario_overhead [QUERIES] [ROUNDS]
#include "base/clocks.h"
#include "base/text.h"
#include "scenario/scenario.h"
#include "stats/percentile.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <vector>

namespace deepgap {
namespace {

constexpr double limit_ns = 1000;

// Answers at once and remembers nothing, unlike ScriptedTarget.
class InstantTarget final : public Target {
 public:
  InstantTarget(Clock& clock, bool over_the_clock) : clock_(clock), over_the_clock_(over_the_clock) {}
  TargetLimits limits() const override { return {1, 1}; }
  void on_completion(TargetCompletion completion) override { completion_ = std::move(completion); }
  void load(std::span<const uint32_t>) override {}
  void unload(std::span<const uint32_t>) override {}
  void submit(std::span<const Query> queries) override {
    for (const Query& query : queries) {
      pending_ = {query.id, 0, 1};
      if (over_the_clock_) {
        clock_.schedule(clock_.now(), [this] { complete(); });
      } else {
        complete();
      }
    }
  }
  void flush() override {}
  void cancel() override {}

 private:
  void complete() { completion_(std::span(&pending_, 1)); }

  Clock& clock_;
  bool over_the_clock_;
  Completed pending_;
  TargetCompletion completion_;
};

// Writes every Timing to memory, as the worker's does, but over and over the same.
struct Keeping final : TimingSink {
  std::vector<Timing> timings = std::vector<Timing>(65'536);
  uint64_t count = 0;
  void add(const Timing& timing) override { timings[count++ % timings.size()] = timing; }
};

// Nanoseconds a query of one drive() of the scenario.
double round_ns(int64_t queries, bool over_the_clock, const std::string& rule) {
  const auto clock = make_real_clock();
  InstantTarget target(*clock, over_the_clock);
  StoppingSettings settings;
  settings.name = rule;
  settings.iterations = queries;
  settings.interval = 1e-9;  // never reached: the interval rule keeps looking
  settings.budget = 700'000'000;
  const auto stopping = make_stopping(settings);
  Keeping sink;
  Traffic traffic{&target, {0, 1, 2, 3}, 1, stopping.get(), &sink};
  const std::atomic<bool> interrupted{false};
  const Nanoseconds begin = clock->now();
  Registry<Scenario>::instance().make("scenario", "batch")->drive(traffic, *clock, interrupted);
  return static_cast<double>(clock->now() - begin) / static_cast<double>(sink.count);
}

void report(const std::string& what, int64_t queries, int rounds, bool over_the_clock, const std::string& rule) {
  std::vector<double> figures;
  for (int i = 0; i < rounds; ++i) figures.push_back(round_ns(queries, over_the_clock, rule));
  const double median = percentile(figures, 50);
  fmt::print("{:<44} {:>7.0f} ns a query (lowest {:.0f}, highest {:.0f}), limit {:.0f} ns: {}\n", what, median,
             *std::min_element(figures.begin(), figures.end()), *std::max_element(figures.begin(), figures.end()), limit_ns,
             median <= limit_ns ? "met" : "MISSED");
}

}  // namespace
}  // namespace deepgap

int main(int argc, char** argv) {
  const int64_t queries = argc > 1 ? deepgap::parse_int(argv[1]).value_or(0) : 200'000;
  const auto rounds = static_cast<int>(argc > 2 ? deepgap::parse_int(argv[2]).value_or(0) : 15);
  if (queries < 1 || rounds < 1) {
    fmt::print(stderr, "usage: scenario_overhead [QUERIES] [ROUNDS]\n");
    return 2;
  }
  deepgap::report("batch, answered inside submit(), counts", queries, rounds, false, "counts");
  deepgap::report("batch, answered over the clock, counts", queries, rounds, true, "counts");
  deepgap::report("batch, answered inside submit(), interval", queries, rounds, false, "interval");
  return 0;
}
