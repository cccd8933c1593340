// Measures how fast the harness itself is, beside MLPerf's LoadGen on the same machine in the same minutes: both drive a system that
// answers at once. Prints medians over rounds in which the two take turns, their ratios, and whether the targets are met. CPUs: two.
//   harness_speed [server|lateness|offline|single-stream|all] [ROUNDS] [SECONDS of the sustained server load]
#include "sides.h"

#include "base/text.h"
#include "stats/percentile.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace deepgap {
namespace {

// A measurement in a process of its own, and the most memory it had.
template <typename Figures>
struct Measured {
  Figures figures{};
  double memory_mib = 0;
};

template <typename Figures>
Measured<Figures> apart(const std::function<Figures()>& measure) {
  int channel[2];
  if (::pipe(channel) != 0) std::abort();
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    const Figures figures = measure();
    const bool told = ::write(channel[1], &figures, sizeof(figures)) == sizeof(figures);
    ::_exit(told ? 0 : 1);
  }
  ::close(channel[1]);
  Measured<Figures> measured;
  const bool heard = ::read(channel[0], &measured.figures, sizeof(Figures)) == sizeof(Figures);
  ::close(channel[0]);
  int status = 0;
  rusage usage{};
  ::wait4(child, &status, 0, &usage);
  if (!heard || status != 0) {
    fmt::print(stderr, "harness_speed: a measurement ended with status {}\n", status);
    std::exit(1);
  }
  measured.memory_mib = static_cast<double>(usage.ru_maxrss) / 1024;
  return measured;
}

template <typename Figures>
double median_of(const std::vector<Measured<Figures>>& rounds, double Figures::*member) {
  std::vector<double> values;
  for (const auto& round : rounds) values.push_back(round.figures.*member);
  return percentile(values, 50);
}

template <typename Figures>
double median_memory(const std::vector<Measured<Figures>>& rounds) {
  std::vector<double> values;
  for (const auto& round : rounds) values.push_back(round.memory_mib);
  return percentile(values, 50);
}

std::string verdict(double value, double limit) { return value <= limit ? "met" : "MISSED"; }

using Server = Measured<ServerFigures>;

void print_server(const char* name, double rate, const std::vector<Server>& rounds) {
  double kept = 0;
  for (const Server& round : rounds) kept += round.figures.kept;
  fmt::print(
      "  {:<8} offered {:>9.0f}/s: answered {:>9.0f}/s, kept in {:.0f} of {} rounds, latency p50 {:.2f} us, p99 {:.1f} us, {:.0f} MiB\n",
      name, rate, median_of(rounds, &ServerFigures::rate), kept, rounds.size(), median_of(rounds, &ServerFigures::p50_us),
      median_of(rounds, &ServerFigures::p99_us), median_memory(rounds));
}

std::vector<Server> server_rounds(ServerFigures (*measure)(double, double), double rate, double seconds, int rounds) {
  std::vector<Server> found;
  for (int i = 0; i < rounds; ++i) found.push_back(apart<ServerFigures>([=] { return measure(rate, seconds); }));
  return found;
}

// LoadGen makes all queries before it begins, 550 bytes each: its runs are kept short enough for that.
void compare_servers(int rounds, double seconds) {
  constexpr double target = 2e6;
  fmt::print("server, sustained ({:g} s; LoadGen 2 s)\n", seconds);
  const auto ours = server_rounds(our_server, target, seconds, rounds);
  print_server("deepgap", target, ours);
  double loadgen_best = 0;
  for (const double rate : {0.25e6, 0.5e6, 1e6, 2e6}) {
    const auto theirs = server_rounds(loadgen_server, rate, 2, rounds);
    print_server("LoadGen", rate, theirs);
    const double answered = median_of(theirs, &ServerFigures::rate);
    if (answered >= 0.99 * rate) loadgen_best = rate;
  }
  const double rate = median_of(ours, &ServerFigures::rate);
  fmt::print("  at least 2 million a second: {}; against the highest rate that LoadGen keeps here: {:.1f} times\n",
             rate >= 0.99 * target ? "met" : "MISSED", loadgen_best > 0 ? rate / loadgen_best : 0);
}

void compare_lateness(int rounds) {
  constexpr double limit_us = 15;
  fmt::print("lateness of issue, p99, less that of a thread that only spins (2 s)\n");
  for (const double rate : {1e3, 1e4, 1e5, 5e5}) {
    std::vector<double> net;
    std::vector<Server> ours, theirs;
    for (int i = 0; i < rounds; ++i) {
      ours.push_back(apart<ServerFigures>([=] { return our_server(rate, 2); }));
      net.push_back(ours.back().figures.late_p99_us - ours.back().figures.spin_p99_us);
      theirs.push_back(apart<ServerFigures>([=] { return loadgen_server(rate, 2); }));
    }
    const double late = percentile(net, 50), our_p99 = median_of(ours, &ServerFigures::p99_us);
    const double their_p99 = median_of(theirs, &ServerFigures::p99_us);
    fmt::print(
        "  {:>6.0f}/s: late {:.2f} us, spinning {:.2f} us, difference {:.2f} us (limit {:g}: {}); latency p99 {:.2f} us, LoadGen "
        "{:.2f} us, ratio {:.3f}\n",
        rate, median_of(ours, &ServerFigures::late_p99_us), median_of(ours, &ServerFigures::spin_p99_us), late, limit_us,
        verdict(late, limit_us), our_p99, their_p99, our_p99 / their_p99);
  }
}

void compare_offline(int rounds) {
  fmt::print("offline, nanoseconds a sample\n");
  for (const int64_t samples : {int64_t{1'100'000}, int64_t{11'000'000}}) {
    std::vector<Measured<OfflineFigures>> ours, theirs;
    for (int i = 0; i < rounds; ++i) {
      ours.push_back(apart<OfflineFigures>([=] { return our_offline(samples); }));
      theirs.push_back(apart<OfflineFigures>([=] { return loadgen_offline(samples); }));
    }
    const double score = median_of(ours, &OfflineFigures::score_ns), outside = median_of(ours, &OfflineFigures::outside_ns);
    const double their_score = median_of(theirs, &OfflineFigures::score_ns), their_outside = median_of(theirs, &OfflineFigures::outside_ns);
    fmt::print(
        "  {:>8} samples: in the measured time {:.1f} (limit 12: {}), LoadGen {:.1f}, ratio {:.2f}; outside {:.1f} (limit 60: {}), "
        "LoadGen {:.1f}, ratio {:.3f}; {:.0f} MiB, LoadGen {:.0f} MiB\n",
        samples, score, verdict(score, 12), their_score, score / their_score, outside, verdict(outside, 60), their_outside,
        outside / their_outside, median_memory(ours), median_memory(theirs));
  }
}

void compare_single_stream(int rounds) {
  constexpr int64_t queries = 1'000'000;
  struct Cost {
    double ns = 0;
  };
  std::vector<Measured<Cost>> ours, theirs;
  for (int i = 0; i < rounds; ++i) {
    ours.push_back(apart<Cost>([] { return Cost{our_single_stream_ns(queries)}; }));
    theirs.push_back(apart<Cost>([] { return Cost{loadgen_single_stream_ns(queries)}; }));
  }
  const double cost = median_of(ours, &Cost::ns), their_cost = median_of(theirs, &Cost::ns);
  fmt::print("single-stream: {:.0f} ns a query (limit 300: {}), LoadGen {:.0f} ns, ratio {:.3f}\n", cost, verdict(cost, 300), their_cost,
             cost / their_cost);
}

int run(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "all";
  const auto rounds = static_cast<int>(argc > 2 ? parse_int(argv[2]).value_or(0) : 5);
  const double seconds = argc > 3 ? parse_double(argv[3]).value_or(0) : 20;
  const auto wanted = [&](const char* name) { return what == name || what == "all"; };
  const bool known = wanted("server") || wanted("lateness") || wanted("offline") || wanted("single-stream");
  if (!known || rounds < 1 || !(seconds > 0)) {
    fmt::print(stderr, "usage: harness_speed [server|lateness|offline|single-stream|all] [ROUNDS] [SECONDS]\n");
    return 2;
  }
  if (wanted("single-stream")) compare_single_stream(rounds);
  if (wanted("offline")) compare_offline(rounds);
  if (wanted("lateness")) compare_lateness(rounds);
  if (wanted("server")) compare_servers(rounds, seconds);
  return 0;
}

}  // namespace
}  // namespace deepgap

int main(int argc, char** argv) { return deepgap::run(argc, argv); }
