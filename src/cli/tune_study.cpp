#include "cli/tune_study.h"

#include "base/feature_conflicts.h"
#include "base/messages.h"
#include "base/text.h"
#include "cli/peak_study.h"
#include "record/tuning_mark.h"
#include "stats/latency_bound.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace deepgap {
namespace {

// Long enough for a throughput that is compared with others by its repeats, short enough for many configurations.
constexpr Nanoseconds throughput_window = 2'000'000'000, longest_warmup = 2'000'000'000;
// Confirming a peak takes twice the runs of confirming a throughput, and longer ones.
constexpr size_t peak_finalists = 3;

[[noreturn]] void fail(const std::string& cause) { throw Error(ErrorKind::usage, cause); }

// The axes that were given, to be taken one by one.
class Given {
 public:
  explicit Given(std::vector<Axis> axes) : axes_(std::move(axes)) {}
  bool has(const std::string& name) const { return find_axis(axes_, name) != nullptr; }
  Features features() const {
    Features features;
    for (const Axis& axis : axes_) features.emplace(axis.name, axis.name);
    return features;
  }
  std::vector<std::string> take(const std::string& name, std::vector<std::string> otherwise) {
    const Axis* found = find_axis(axes_, name);
    if (found == nullptr) return otherwise;
    std::vector<std::string> values = found->values;
    axes_.erase(axes_.begin() + (found - axes_.data()));
    return values;
  }
  const std::vector<std::string>& values(const std::string& name) const { return find_axis(axes_, name)->values; }
  std::vector<Axis> rest() && { return std::move(axes_); }

 private:
  std::vector<Axis> axes_;
};

int threads_of(const std::string& text, int cpus) {
  const auto value = parse_int(text);
  return value && *value > 0 ? static_cast<int>(std::min<int64_t>(*value, 65'536)) : cpus;  // what is no number is said by the plan
}

std::vector<std::string> default_threads(int cpus) {
  std::vector<std::string> threads{std::to_string(cpus)};
  if (cpus >= 4) threads.push_back(std::to_string(cpus / 2));  // where two share a core, or memory sets the speed
  return threads;
}

std::vector<std::string> default_streams(bool on_cpu, int cpus) {
  std::vector<std::string> streams{"1"};
  for (int count = 2; count <= (on_cpu ? std::min(cpus, 16) : 4); count *= 2) streams.push_back(std::to_string(count));
  return streams;
}

void require_one(const Given& given, const std::string& axis, const std::string& why) {
  if (given.has(axis) && given.values(axis).size() > 1) fail(fmt::format("{}: give one --{}", why, axis));
}

void check(const Given& given) {
  if (!given.has("model")) fail("nothing to tune: give --model (see deepgap models)");
  for (const char* axis : {"model", "weights", "dataset"}) require_one(given, axis, "only configurations of one network can be compared");
  for (const char* axis : {"scenario", "rate", tuning_mark, "peak"})
    if (given.has(axis)) fail(fmt::format("tune chooses {} itself: leave it out", axis));
  if (given.has("mlperf")) fail("tune does not work for MLPerf runs: leave mlperf out");
  if (given.has("bound")) {
    require_one(given, "bound", "configurations are compared under one SLO");
    require_one(given, "batch", "under an SLO all queries are alike");
  }
  refuse_conflicts("tune", given.features());
}

// "5ms", "250us"
std::string time_text(Nanoseconds time) {
  return time % 1'000'000 == 0 ? fmt::format("{}ms", time / 1'000'000) : fmt::format("{}us", time / 1000);
}

// Returns grids without the dispatcher, and with it for each way to make batches of several queries.
std::vector<Grid> with_batches(const Grid& base, Given& given, const LatencyBound& bound) {
  const std::vector<std::string> sizes = given.take("max_batch", {"1", "4", "16"});
  const std::vector<std::string> delays = given.take("max_delay", {"0", time_text(bound.limit / 10)});
  std::vector<std::string> joined;
  std::copy_if(sizes.begin(), sizes.end(), std::back_inserter(joined), [](const std::string& size) { return size != "1"; });
  std::vector<Grid> grids;
  if (joined.size() < sizes.size()) grids.push_back(base);
  if (joined.empty()) return grids;
  grids.push_back(base);
  grids.back().axes.push_back({"max_batch", joined});
  grids.back().axes.push_back({"max_delay", delays});
  return grids;
}

// A grid for each number of threads, with the streams that it allows.
std::vector<Grid> with_threads(const std::vector<Grid>& bases, const std::vector<std::string>& threads,
                               const std::vector<std::string>& streams, bool on_cpu, int cpus) {
  std::vector<Grid> grids;
  for (const Grid& base : bases) {
    for (const std::string& count : threads) {
      std::vector<std::string> allowed;
      for (const std::string& stream : streams) {
        if (!on_cpu || parse_int(stream).value_or(1) <= threads_of(count, cpus)) allowed.push_back(stream);
      }
      if (allowed.empty()) continue;
      grids.push_back(base);
      grids.back().axes.push_back({"threads", {count}});
      grids.back().axes.push_back({"streams", allowed});
    }
  }
  if (grids.empty()) fail("nothing to tune: each value of --streams is above all values of --threads");
  return grids;
}

std::vector<std::string> varied_axes(const std::vector<Grid>& grids) {
  std::vector<std::string> names;
  std::map<std::string, std::set<std::string>> values;
  for (const Grid& grid : grids) {
    for (const Axis& axis : grid.axes) {
      if (values[axis.name].empty()) names.push_back(axis.name);
      values[axis.name].insert(axis.values.begin(), axis.values.end());
    }
  }
  const auto only_some = [&](const std::string& name) {
    return std::any_of(grids.begin(), grids.end(), [&](const Grid& grid) { return find_axis(grid.axes, name) == nullptr; });
  };
  std::erase_if(names, [&](const std::string& name) { return values[name].size() < 2 && !only_some(name); });
  return names;
}

// Windows of one length, and no more warm-up than these are worth.
Grid base_grid(const std::optional<Nanoseconds>& window) {
  Grid base;
  base.stopping.name = "duration";
  base.stopping.duration = window;
  base.stopping.warmup_budget = longest_warmup;
  return base;
}

// Under a bound each configuration is searched for its largest load.
void make_search(Grid& grid, const TuneRequest& request, TuneOrder& order) {
  Study searched;
  searched.grids = {grid};
  PeakFlags flags;
  flags.ratio = request.peak_ratio;
  order.peak = prepare_peak_search(searched, flags);
  order.finalists = peak_finalists;
  grid = searched.grids.front();
}

}  // namespace

TuneStudy make_tune_study(const TuneRequest& request) {
  Given given(request.axes);
  check(given);
  const bool bounded = given.has("bound");
  const std::vector<std::string> cpu_only{"cpu"};
  const bool on_cpu = !given.has("device") || given.values("device") == cpu_only;
  const auto threads = given.take("threads", default_threads(request.cpus));
  const auto streams = given.take("streams", default_streams(on_cpu, request.cpus));
  const auto batch = given.take("batch", bounded ? std::vector<std::string>{"1"} : std::vector<std::string>{"1", "4", "16"});
  const Grid base = base_grid(bounded || request.window ? request.window : throughput_window);
  std::vector<Grid> bases{base};
  if (bounded) {
    const std::string text = given.values("bound").front();
    const auto bound = latency_bound_from(text);
    if (!bound) fail(invalid_value(text, "--slo", "a percentile and its limit, such as p99=15ms"));
    bases = with_batches(base, given, *bound);
  }
  TuneStudy tune;
  tune.study.name = "tune";
  const std::vector<Axis> rest = std::move(given).rest();
  for (Grid& grid : bases) {
    grid.axes.insert(grid.axes.begin(), rest.begin(), rest.end());
    grid.axes.push_back({"scenario", {bounded ? "server" : "offline"}});
    grid.axes.push_back({"batch", batch});
    if (bounded) make_search(grid, request, tune.order);
  }
  tune.study.grids = with_threads(bases, threads, streams, on_cpu, request.cpus);
  tune.varied = varied_axes(tune.study.grids);
  return tune;
}

}  // namespace deepgap
