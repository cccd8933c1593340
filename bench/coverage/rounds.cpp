// Several queries in flight: slots that each take their next query when they have answered one, judged in rounds and, as before, by every
// completion for itself.
#include "recorded.h"
#include "scenario/stopping.h"
#include "scenario/test_slots.h"
#include "simulated_run.h"
#include "stats/test_sources.h"

#include <deepgap/record.h>

#include <fmt/format.h>

#include <string>
#include <vector>

namespace deepgap {
namespace {

struct Row {
  int slots = 2;
  double ms = 5, cv = 0.01;
  double slower = 1;  // how much longer the last slot takes than the others
};

struct Judged {
  Estimate throughput;
  bool unstable = false;
};

Judged judged(const Row& row, Random& random, int64_t round) {
  StoppingSettings settings;
  settings.name = "duration";
  settings.duration = 2'000'000'000;
  const auto stopping = make_stopping(settings, round);
  std::vector<QuerySource> sources;
  for (int slot = 0; slot < row.slots; ++slot)
    sources.push_back(white_source(random, row.ms / 1e3 * (slot + 1 == row.slots ? row.slower : 1), row.cv));
  feed_slots(*stopping, sources.size(), 1, [&](size_t slot) { return static_cast<Nanoseconds>(sources[slot].next(0) * 1e9); });
  return {stopping->throughput(), stopping->verdict().verdict == Verdict::unstable};
}

struct Counts {
  int covered = 0, unstable = 0;
  double off = 0;
};

Counts counts_of(const Row& row, Random& random, bool rounds, int series) {
  const double truth = 1e3 / row.ms * (row.slots - 1 + 1 / row.slower);
  Counts counts;
  for (int i = 0; i < series; ++i) {
    const Judged one = judged(row, random, rounds ? row.slots : 1);
    counts.covered += holds(one.throughput, truth) ? 1 : 0;
    counts.unstable += one.unstable ? 1 : 0;
    counts.off += (one.throughput.value / truth - 1) * 100 / series;
  }
  return counts;
}

}  // namespace

void print_rounds(int series) {
  fmt::print("\nSeveral in flight, windows of two seconds, {} series a row\n", series);
  fmt::print(
      "| slots | every completion: covers, % | every completion: unstable, % | every completion: off by, mean | covers, % | unstable, % | "
      "off by, mean |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n");
  uint64_t seed = 22'000;
  for (const Row& row :
       {Row{2, 5, 0.01, 1}, Row{2, 50, 0.01, 1}, Row{2, 500, 0.001, 1}, Row{4, 100, 0.01, 1}, Row{2, 50, 0.01, 3}, Row{8, 20, 0.05, 1}}) {
    Random random(++seed);
    const Counts before = counts_of(row, random, false, series), now = counts_of(row, random, true, series);
    fmt::print("| {} of {:g} ms, cv {:g} %{} | {:.1f} | {:.1f} | {:+.2f} % | {:.1f} | {:.1f} | {:+.2f} % |\n", row.slots, row.ms,
               row.cv * 100, row.slower > 1 ? fmt::format(", one {:g} times", row.slower) : "", percent(before.covered, series),
               percent(before.unstable, series), before.off, percent(now.covered, series), percent(now.unstable, series), now.off);
    std::fflush(stdout);
  }
}

}  // namespace deepgap
