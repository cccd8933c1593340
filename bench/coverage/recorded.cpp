// Series that real devices gave: the Records with timings in the Stores of recorded/, named by their study (`deepgap run --study NAME`,
// `deepgap export --format db --anonymous`). A run begins somewhere in one of them, and what its interval should hold is the mean of all of
// it; behind its end it begins again.
//
// A recording is one piece of one device's life: hardly more windows fit into it than its length allows, however many series are drawn,
// and a device that changes within it has no truth that a shorter window could know. What it shows is how the rules fare on such scatter.
#include "recorded.h"

#include "simulated_run.h"
#include "stats/compare.h"
#include "stats/test_sources.h"
#include "store/store.h"

#include <deepgap/record.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace deepgap {
namespace {

struct Recording {
  std::string name;
  std::vector<double> lengths;  // seconds from one completion to the next
};

std::vector<double> lengths_of(const std::vector<Timing>& timings) {
  std::vector<double> lengths;
  for (size_t i = 1; i < timings.size(); ++i) lengths.push_back(static_cast<double>(timings[i].end - timings[i - 1].end) / 1e9);
  return lengths;
}

std::vector<Recording> recordings() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(DEEPGAP_RECORDED)) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  std::vector<Recording> found;
  for (const std::string& file : files) {
    if (std::filesystem::path(file).extension() != ".db") continue;
    const Store store(file, Store::Mode::read);
    store.each([&](Record&& record) { found.push_back({record.study, lengths_of(store.timings(record.record_id))}); });
  }
  return found;
}

QuerySource from_somewhere(const Recording& recording, Random& random) {
  const std::vector<double>& lengths = recording.lengths;
  auto place = std::make_shared<size_t>(std::uniform_int_distribution<size_t>(0, lengths.size() - 1)(random));
  const double mean = std::accumulate(lengths.begin(), lengths.end(), 0.0) / static_cast<double>(lengths.size());
  return {[&lengths, place](double) { return lengths[(*place)++ % lengths.size()]; }, mean, 0};
}

double half_width(const Estimate& estimate) { return (*estimate.high - *estimate.low) / 2; }

struct Outcome {
  Estimate throughput;
  Verdict verdict = Verdict::none;
};

Outcome one_run(const Recording& recording, const StoppingSettings& settings, Random& random) {
  const SimulatedRun run = simulate_run(from_somewhere(recording, random), settings);
  return {run.throughput, run.verdict};
}

// Makes a Point of so many repeats, each at another time; unstable if any of them is.
Outcome repeats(const Recording& recording, const StoppingSettings& settings, Random& random, int count) {
  std::vector<MeanEstimate> means;
  Outcome all{{}, Verdict::valid};
  for (int i = 0; i < count; ++i) {
    const Outcome one = one_run(recording, settings, random);
    if (one.verdict == Verdict::unstable) all.verdict = Verdict::unstable;
    means.push_back(as_repeat(one.throughput));
  }
  const MeanEstimate mean = estimate_over_repeats(means)->estimate;
  all.throughput = {mean.mean, mean.interval().low, mean.interval().high, mean.n};
  return all;
}

void print_row(const Recording& recording, const std::string& window, int series, const std::function<Outcome()>& run) {
  const double seconds = std::accumulate(recording.lengths.begin(), recording.lengths.end(), 0.0);
  const double truth = static_cast<double>(recording.lengths.size()) / seconds;
  int covered = 0, unstable = 0, sound_covered = 0;
  std::vector<double> widths, off;
  for (int i = 0; i < series; ++i) {
    const Outcome found = run();
    const bool covers = holds(found.throughput, truth), is_unstable = found.verdict == Verdict::unstable;
    covered += covers ? 1 : 0;
    unstable += is_unstable ? 1 : 0;
    sound_covered += covers && !is_unstable ? 1 : 0;
    off.push_back(std::abs(found.throughput.value / truth - 1) * 100);
    if (found.throughput.low && found.throughput.high) widths.push_back(half_width(found.throughput) / found.throughput.value * 100);
  }
  const int sound = series - unstable;
  fmt::print("| {} | {:.0f} | {:.2f} | {} | {:.1f} | {:.1f} | {} | {:.2f} | {:.2f} |\n", recording.name, seconds, 1e3 / truth, window,
             100.0 * covered / series, 100.0 * unstable / series, sound > 0 ? fmt::format("{:.1f}", 100.0 * sound_covered / sound) : "-",
             median_of(widths), median_of(off));
  std::fflush(stdout);
}

}  // namespace

void print_recorded(int series) {
  fmt::print("\nRecorded on real devices, {} from random places of each\n", series);
  fmt::print(
      "| recording | its length, s | a query, ms | measured as | covers, % | unstable, % | covers where not, % | median half-width, % | "
      "throughput off by, % (median) |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  StoppingSettings quick, usual, of_five;
  usual.duration = 10'000'000'000;   // as plan/expand.cpp
  of_five.duration = 2'000'000'000;  // likewise, of five repeats
  uint64_t seed = 21'000;
  for (const Recording& recording : recordings()) {
    Random random(++seed);
    print_row(recording, "a quick look", series, [&] { return one_run(recording, quick, random); });
    print_row(recording, "one run", series, [&] { return one_run(recording, usual, random); });
    print_row(recording, "five repeats", std::max(1, series / 4), [&] { return repeats(recording, of_five, random, 5); });
  }
}

}  // namespace deepgap
