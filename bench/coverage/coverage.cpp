// Coverage of intervals and verdicts, simulated with the classes that measure, fixed seeds: the tables of docs/explanation/validation.md.
//   coverage [all|parts|PART] [SERIES]     SERIES a row, 2000 unless said; `parts` lists them. tables.py puts them into the page.
#include "comparisons.h"
#include "energy.h"
#include "record/verdict.h"
#include "recorded.h"
#include "searches.h"
#include "simulated_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace deepgap {
namespace {

struct Row {
  std::string name;
  std::function<QuerySource(Random&)> make;
};

std::vector<Row> run_rows() {
  const auto ms = [](double t) { return t / 1e3; };
  return {
      {"white, cv 1 %", [=](Random& r) { return white_source(r, ms(5), 0.01); }},
      {"white, cv 10 %", [=](Random& r) { return white_source(r, ms(5), 0.1); }},
      {"lognormal, sigma 0.3", [=](Random& r) { return lognormal_source(r, ms(5), 0.3); }},
      {"lognormal, sigma 1", [=](Random& r) { return lognormal_source(r, ms(5), 1); }},
      {"AR(1) 0.5, cv 5 %", [=](Random& r) { return ar1_source(r, ms(5), 0.05, 0.5); }},
      {"AR(1) 0.9, cv 5 %", [=](Random& r) { return ar1_source(r, ms(5), 0.05, 0.9); }},
      {"AR(1) 0.99, cv 5 %", [=](Random& r) { return ar1_source(r, ms(5), 0.05, 0.99); }},
      {"AR(1) 0.9, cv 2 %, 50 ms", [=](Random& r) { return ar1_source(r, ms(50), 0.02, 0.9); }},
      {"modes 10 % apart, each query", [=](Random& r) { return modes_source(r, ms(5), 0.1, 0); }},
      {"modes 10 % apart, dwell 1 s", [=](Random& r) { return modes_source(r, ms(5), 0.1, 1); }},
      {"modes 2 % apart, dwell 1 s", [=](Random& r) { return modes_source(r, ms(5), 0.02, 1); }},
      {"1 % five times as long", [=](Random& r) { return spikes_source(r, ms(5), 100, 5); }},
      {"1 % five times as long, 50 ms", [=](Random& r) { return spikes_source(r, ms(50), 100, 5); }},
      {"interference, 0.1 s of every 1 s, twice", [=](Random& r) { return interference_source(r, ms(5), 1, 0.1, 2); }},
      {"swings of 3 %, 1 s each", [=](Random& r) { return swings_source(r, ms(5), 0.03, 1); }},
      {"drift 1 % in 30 s", [=](Random& r) { return drift_source(r, ms(5), 0.01); }},
      {"drift 5 % in 30 s", [=](Random& r) { return drift_source(r, ms(5), 0.05); }},
      {"drift 20 % in 30 s", [=](Random& r) { return drift_source(r, ms(5), 0.2); }},
      {"throttled 5 % after 0.5 s", [=](Random& r) { return throttle_source(r, ms(5), 0.05, 0.5); }},
      {"throttled 5 % after 2 s", [=](Random& r) { return throttle_source(r, ms(5), 0.05, 2); }},
      {"throttled 20 % after 2 s", [=](Random& r) { return throttle_source(r, ms(5), 0.2, 2); }},
      {"throttled 5 % after 5 s", [=](Random& r) { return throttle_source(r, ms(5), 0.05, 5); }},
      {"warming +5 %, tau 0.5 s, 1 ms", [=](Random& r) { return warming_source(r, ms(1), 0.05, 0.5); }},
      {"warming +20 %, tau 2 s, 1 ms", [=](Random& r) { return warming_source(r, ms(1), 0.2, 2); }},
      {"warming +20 %, tau 2 s, 10 ms", [=](Random& r) { return warming_source(r, ms(10), 0.2, 2); }},
  };
}

void print_runs(int series, const StoppingSettings& settings, const std::string& title) {
  fmt::print("\n{}, {} series a row\n", title, series);
  fmt::print(
      "| series | covers, % | p50 covers, % | valid, % | covers where valid, % | unstable, % | median half-width, % | window, s | warm-up, "
      "s |\n");
  fmt::print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  uint64_t seed = 1000;
  for (const Row& row : run_rows()) {
    Random random(++seed);
    int covered = 0, p50_covered = 0, unstable = 0, valid = 0, valid_covered = 0;
    std::vector<double> widths, windows, warmups;
    bool has_mean = false, has_median = false;
    for (int i = 0; i < series; ++i) {
      const QuerySource source = row.make(random);
      has_mean = source.mean > 0;
      has_median = source.median > 0;
      const SimulatedRun run = simulate_run(source, settings);
      const bool covers = has_mean && holds(run.throughput, 1 / source.mean);
      covered += covers ? 1 : 0;
      p50_covered += has_median && holds(run.p50, source.median * 1e3) ? 1 : 0;
      const bool is_unstable = run.verdict == Verdict::unstable;
      unstable += is_unstable ? 1 : 0;
      valid += is_sound(run.verdict) ? 1 : 0;
      valid_covered += covers && is_sound(run.verdict) ? 1 : 0;
      if (run.throughput.low && run.throughput.high)
        widths.push_back((*run.throughput.high - *run.throughput.low) / 2 / run.throughput.value * 100);
      windows.push_back(run.window_s);
      warmups.push_back(run.warmup_s);
    }
    const auto cell = [](bool known, double value) { return known ? fmt::format("{:.1f}", value) : std::string("-"); };
    fmt::print("| {} | {} | {} | {:.1f} | {} | {:.1f} | {:.2f} | {:.1f} | {:.2f} |\n", row.name, cell(has_mean, percent(covered, series)),
               cell(has_median, percent(p50_covered, series)), percent(valid, series),
               cell(has_mean && valid > 0, percent(valid_covered, valid)), percent(unstable, series), median_of(widths), median_of(windows),
               median_of(warmups));
    std::fflush(stdout);
  }
}

void print_all_runs(int series) {
  print_runs(series, StoppingSettings(), "A quick look: half a second at least");
  StoppingSettings usual;
  usual.duration = 10'000'000'000;  // as plan/expand.cpp
  print_runs(series, usual, "One run at the default settings: 10 s at least");
}

struct Part {
  std::string_view name;
  void (*print)(int series);
};
constexpr Part parts[] = {{"runs", print_all_runs},
                          {"warmups", print_warmups},
                          {"repeats", [](int series) { print_repeats(std::max(1, series / 4)); }},
                          {"auto_repeats", print_auto_repeats},
                          {"points", print_points},
                          {"gates", print_all_gates},
                          {"comparisons", print_comparisons},
                          {"winners", print_winners},
                          {"nodes", print_nodes},
                          {"undisturbed", print_undisturbed},
                          {"undisturbed_ratio", print_undisturbed_ratio},
                          {"pairs", print_pairs},
                          {"duels", print_duels},
                          {"interleaved", print_interleaved},
                          {"percentiles", print_percentiles},
                          {"modes", print_modes},
                          {"bounds", print_bounds},
                          {"arrivals", print_arrivals},
                          {"overloads", print_overloads},
                          {"peaks", print_peaks},
                          {"budgets", print_budgets},
                          {"tuning", print_tuning},
                          {"energy", print_energy},
                          {"rounds", print_rounds},
                          {"recorded", print_recorded},
                          {"power_windows", print_power_windows}};

}  // namespace
}  // namespace deepgap

int main(int argc, char** argv) {
  using namespace deepgap;
  const std::string asked = argc > 1 ? argv[1] : "all";
  const int series = argc > 2 ? std::atoi(argv[2]) : 2000;
  bool any = false;
  for (const Part& part : parts) {
    if (asked == "parts") fmt::print("{}\n", part.name);
    if (asked == part.name || asked == "all") part.print(series);
    any = any || asked == part.name || asked == "all" || asked == "parts";
  }
  if (any && series > 0) return 0;
  fmt::print(stderr, "usage: coverage [all|parts|PART] [SERIES]; `coverage parts` lists the parts\n");
  return 2;
}
