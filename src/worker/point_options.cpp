#include "worker/point_options.h"

#include "base/messages.h"
#include "base/option_values.h"
#include "base/text.h"
#include "record/dataset_hash.h"
#include "record/point_option.h"
#include "record/tuning_mark.h"
#include "worker/input_values.h"
#include "worker/point_conflicts.h"
#include "worker/run_rules.h"
#include "worker/task_work.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace deepgap {
namespace {

constexpr std::string_view environment_prefix = "env.";
constexpr std::string_view secret_variable = "env.DEEPGAP_KSERVE_TOKEN";
constexpr std::string_view quantize_prefix = "quantize.";

[[noreturn]] void wrong_value(const std::string& name, const std::string& value, std::string_view wanted) {
  throw Error(ErrorKind::usage, invalid_value(value, name, wanted));
}

void set_bounds(PointOptions& sorted, const std::string& value) {
  for (LatencyBound& bound : parse_latency_bounds(value)) {
    if (bound.metric == "latency")
      sorted.bound = std::move(bound);
    else
      sorted.token_bounds.push_back(std::move(bound));
  }
}

// Returns whether the option belongs to a benchmark's rules, which look at its value themselves. Throws Error{usage} for one they do not
// know.
bool is_of_rules(const std::string& option) {
  for (const auto& [name, rules] : all_rules()) {
    if (option != name && !option.starts_with(name + "_")) continue;
    if (find_option(rules->options(), option) == nullptr) refuse_name("", rules->options(), option);
    return true;
  }
  return false;
}

// The backend of "NAME.key", or nothing.
std::optional<std::pair<std::string, std::string>> prefixed(const std::string& name) {
  const size_t dot = name.find('.');
  if (dot == std::string::npos) return std::nullopt;
  return std::pair(name.substr(0, dot), name.substr(dot + 1));
}

// The other scenarios that take this option; the Point's own does not.
std::vector<std::string> scenarios_with(const std::string& option) {
  const auto& scenarios = Registry<Scenario>::instance();
  std::vector<std::string> found;
  for (const std::string& name : scenarios.names()) {
    if (find_option(scenarios.make("scenario", name)->options(), option) != nullptr) found.push_back(name);
  }
  return found;
}

[[noreturn]] void unknown_option(const Point& point, const std::string& name, const std::vector<OptionInfo>& backend,
                                 const std::vector<OptionInfo>& scenario) {
  if (const auto others = scenarios_with(name); !others.empty()) {
    throw Error(ErrorKind::usage,
                fmt::format("'{}' is not an option of scenario {}; it belongs to {}", name, point.scenario, join(others, ", ")));
  }
  std::vector<OptionInfo> known = backend;
  known.insert(known.end(), scenario.begin(), scenario.end());
  known.insert(known.end(), worker_options().begin(), worker_options().end());
  const bool is_near =
      std::any_of(known.begin(), known.end(), [&](const OptionInfo& option) { return nearest_name(name, {option.name}).has_value(); });
  if (is_near) refuse_name(point.backend, known, name);
  throw Error(ErrorKind::usage,  // all names would fill a screen
              fmt::format("unknown option of {0} '{1}'; deepgap backends {0} and deepgap run --help list them", point.backend, name));
}

std::vector<int> parse_cpu_list(const std::string& text) {
  std::vector<int> cpus;
  for (const std::string& part : split(text, '/')) {
    const std::vector<std::string> ends = split(part, '-');
    const auto first = parse_int(ends.front()), last = parse_int(ends.back());
    if (ends.size() > 2 || !first || !last || *first < 0 || *last < *first || *last > 65'535) {
      wrong_value("affinity", text, "none, first, near, far, or a list of CPUs such as 0-3/8");
    }
    for (int64_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

bool set_peak(PointOptions& sorted, const std::string& stage) {
  sorted.peak_search = true;
  sorted.ends_when_hopeless = stage != "refine";  // ending early by the results would report too high a share of late queries
  return true;
}

bool set_accuracy(PointOptions& sorted, const std::string& samples) {
  if (samples != "all") sorted.accuracy_samples = samples == "off" ? 0 : parse_int(samples);
  return true;
}

void add_samples(OptionTable<PointOptions>& table) {
  using Options = PointOptions;
  table.count("seed", "seed of weights and samples", &Options::seed, 0).process_wide();
  table.count("arrivals", "index of the random arrivals drawn from the seed; tenants have different ones", &Options::arrivals, 0,
              1'000'000);
  table.count("samples", "number of different samples that a batch cycles through", &Options::samples, 1, 65'536);
  table.text("labels", "file of the dataset's labels, for accuracy_top1 and accuracy_top5", &Options::labels);
  table.count("label_offset", "number added to each label, 1 for a network whose class 0 is the background", &Options::label_offset,
              -1'000'000, 1'000'000);
  table.row({"accuracy",
             "labelled samples to answer, untimed, for accuracy_top1: all, off, or a number",
             "all",
             false,
             OptionKind::count,
             {"all", "off"}},
            "a number of samples", set_accuracy);
  table.count("streams", "queries that the session can process at the same time, at least", &Options::streams, 1, 1024);
  table.row({"shape", "sizes of open inputs: input:1x3x224x224, several joined by '/'", "", true},
            [](Options& sorted, const std::string& value) { sorted.shapes = parse_shapes(value); });
  table.row(
      {"input", "numbers of inputs in samples that are made up: k=5, sizes=1x3x8x8, several inputs joined by '/'; --input sets it", ""},
      [](Options& sorted, const std::string& value) { sorted.input_numbers = parse_input_numbers(value); });
}

void add_verdict(OptionTable<PointOptions>& table) {
  using Options = PointOptions;
  table
      .text("affinity", "CPUs of the worker: none, first (as many as threads), near or far (from the GPU's socket), or a list 0-3/8",
            &Options::affinity)
      .process_wide();
  constexpr Nanoseconds ms = 1'000'000, h = 3'600'000'000'000;
  table.row({"telemetry_period", "time between two readings of the probes (1s for a server's client)", "100ms", true, OptionKind::duration},
            time_range(ms, h, 100 * ms), [](Options&, const std::string& value) {  // the group takes it from the Point
              const auto period = parse_time(value);
              return period && *period >= ms && *period <= h;
            });
  table.row({"bound", "latency SLO that a valid result meets: p99=15ms; of generation also ttft.p99=500ms,tpot.p99=50ms", ""}, set_bounds);
  table.choice(
      "power",
      "GPU state to measure. burst: a cool start, and at most 2 s until the power limit; sustained: steady clocks, at the limit if "
      "the load reaches it; either: as it comes",
      &Options::power, {{"either", PowerAsked::either}, {"burst", PowerAsked::burst}, {"sustained", PowerAsked::sustained}});
  table.percentage("failed_allowed", "largest share of queries that a server may fail in a valid result: 1%", &Options::failed_allowed);
  table.text("reference", "ONNX file of a server's model, to compare its outputs with", &Options::reference).process_wide();
  table.row({"peak",
             "role of a run in a peak search: search, confirm or refine; --find-peak sets it",
             "",
             false,
             OptionKind::choice,
             {"search", "confirm", "refine"}},
            "", set_peak);
  table.choice(
      "inputs",
      "place of samples before a query, on a GPU. host: the query copies them; device: they are on the GPU, and the query gathers "
      "them; host-ready, ready: likewise, in the type and layout that the first operators read",
      &Options::inputs,
      {{"host", InputPlace::host}, {"host-ready", InputPlace::host_ready}, {"device", InputPlace::device}, {"ready", InputPlace::ready}});
}

// Others read these from the Point.
void add_options_of_others(OptionTable<PointOptions>& table) {
  const auto add = [&](OptionInfo info) { table.row(std::move(info), [](PointOptions&, const std::string&) {}); };
  add({tuning_mark,
       "role of a run of deepgap tune: search or confirm; tune sets it",
       "",
       false,
       OptionKind::choice,
       {"search", "confirm"}});
  add({"tenant_cpus", "CPUs of tenants. share: each may use all CPUs; split: each is pinned to its part", "share"});
  add({"tenant", "index of this tenant: 1/2; --tenant sets it", ""});
  add({"tenants", "models that are measured together; --tenant sets it", ""});
  add({"contender", "index of this arm of an interleaved comparison: 1/2; --duel sets it", ""});
  add({"duel", "axis and arms of an interleaved comparison; --duel sets it", ""});
  for (const auto& [name, rules] : all_rules()) add(rules->summary());
  add({"env.NAME", "environment variable of the worker", "", true});
}

const OptionTable<PointOptions>& own_options() {
  static const OptionTable<PointOptions> table = [] {
    OptionTable<PointOptions> made;
    add_samples(made);
    add_verdict(made);
    add_options_of_others(made);
    made.part(&PointOptions::dispatch, dispatch_options());
    made.part(&PointOptions::end_to_end, end_to_end_options());
    for (const auto& [task, work] : own_works()) work->add_options(made);
    made.part(&PointOptions::generate, generate_options());
    made.part(&PointOptions::quantize, quantize_options(), std::string(quantize_prefix), "precision int8: ");
    return made;
  }();
  return table;
}

// Hands each option of a Point to what it is for. Throws Error{usage} for one that nothing takes.
class OptionSorter {
 public:
  OptionSorter(const Point& point, const std::vector<OptionInfo>& backend, const std::vector<OptionInfo>& scenario)
      : point_(point), backend_(backend), scenario_(scenario) {
    task_work(point).set_defaults(point, sorted_);
    for (const auto& [name, value] : point.options) {
      if (!sort_by_prefix(name, value)) sort_plain(name, value);
    }
    // It goes before the plain one.
    if (const auto given = point.options.find(point.backend + ".inputs"); given != point.options.end())
      own_options().set(sorted_, "inputs", given->second);
  }
  PointOptions take() && {
    for (const auto& [name, value] : sorted_.backend) check_option(point_.backend, *find_option(backend_, name), value);
    sorted_.train.seed = sorted_.seed;
    return std::move(sorted_);
  }

 private:
  // Sorts the options that others read, whose name's beginning says what they are for. False: it is another option.
  bool sort_by_prefix(const std::string& name, const std::string& value) {
    if (name == secret_variable)
      throw Error(ErrorKind::usage,
                  "env.DEEPGAP_KSERVE_TOKEN would be kept in the store: set it in deepgap's own environment, or give token_file");
    if (name.starts_with(environment_prefix) && name.size() > environment_prefix.size()) {
      sorted_.environment[name.substr(environment_prefix.size())] = value;
      return true;
    }
    if (name.starts_with(quantize_prefix)) return false;
    if (name == dataset_hash_option) return true;  // the inspection's
    if (is_of_rules(name)) return true;
    if (name == "rate" && rules_of(point_) != nullptr) return true;  // the rules read it
    const auto parts = prefixed(name);
    if (!parts) return false;
    if (parts->first == point_.backend && parts->second != "inputs") {  // else another engine's, or taken last
      if (find_option(backend_, parts->second) == nullptr) unknown_option(point_, name, backend_, scenario_);
      sorted_.backend[parts->second] = value;
    }
    return true;
  }
  void sort_plain(const std::string& name, const std::string& value) {
    const bool of_backend = find_option(backend_, name) != nullptr, of_scenario = find_option(scenario_, name) != nullptr;
    if (!own_options().set(sorted_, name, value) && !of_backend && !of_scenario) unknown_option(point_, name, backend_, scenario_);
    if (of_backend) sorted_.backend.emplace(name, value);  // what was said with a prefix goes first
    if (of_scenario) sorted_.scenario[name] = value;
  }

  const Point& point_;
  const std::vector<OptionInfo>& backend_;
  const std::vector<OptionInfo>& scenario_;
  PointOptions sorted_;
};

}  // namespace

const std::vector<OptionInfo>& worker_options() { return own_options().infos(); }

PointOptions sort_options(const Point& point, const std::vector<OptionInfo>& backend, const std::vector<OptionInfo>& scenario) {
  refuse_point_conflicts(point);
  task_work(point).require(point);
  return OptionSorter(point, backend, scenario).take();
}

InputPlace input_place(const std::string& text) {
  PointOptions options;
  own_options().set(options, "inputs", text);
  return options.inputs;
}

EngineRequest engine_request(const Point& point, const PointOptions& options) {
  EngineRequest request;
  request.task = point.task;
  request.placement = point.placement;
  request.precision = point.precision;
  request.batch_sizes = batch_sizes(point, options.dispatch);
  request.threads = std::max(point.threads, 1);
  request.inputs = options.inputs;
  request.samples_change = options.end_to_end.on();
  request.options = options.backend;
  request.train = options.train;
  request.generate.unique_seed = options.generate.unique_seed;
  task_work(point).complete(request, point, options);
  return request;
}

std::string process_key(const Point& point, const std::vector<OptionInfo>& backend) {
  std::string key;
  const std::vector<OptionInfo>& own = worker_options();
  const auto is_wide = [](const std::vector<OptionInfo>& options, const std::string& name) {
    return std::any_of(options.begin(), options.end(), [&](const OptionInfo& o) { return o.name == name && o.process_wide; });
  };
  for (const auto& [name, value] : point.options) {
    const auto parts = prefixed(name);
    const bool environment = name.starts_with(environment_prefix);
    const bool of_backend = parts ? parts->first == point.backend && is_wide(backend, parts->second) : is_wide(backend, name);
    if (environment || of_backend || is_wide(own, name)) key += fmt::format("{}={};", name, value);
  }
  return key;
}

std::map<std::string, std::string> worker_environment(const Point& point) {
  std::map<std::string, std::string> environment;
  for (const auto& [name, value] : point.options) {
    if (name.starts_with(environment_prefix)) environment[name.substr(environment_prefix.size())] = value;
  }
  return environment;
}

std::optional<Side> gpu_side(const std::string& affinity) {
  if (affinity == "near") return Side::near;
  if (affinity == "far") return Side::far;
  return std::nullopt;
}

std::vector<int> affinity_cpus(const std::string& affinity, int threads, const std::vector<int>& allowed) {
  if (affinity.empty() || affinity == "none") return {};
  if (affinity == "first") {
    const size_t count = threads > 0 ? std::min(static_cast<size_t>(threads), allowed.size()) : allowed.size();
    return {allowed.begin(), allowed.begin() + static_cast<std::ptrdiff_t>(count)};
  }
  std::vector<int> cpus = parse_cpu_list(affinity);
  for (const int cpu : cpus) {
    if (std::find(allowed.begin(), allowed.end(), cpu) == allowed.end()) {
      throw Error(ErrorKind::usage,
                  fmt::format("invalid value '{}' for affinity: CPU {} is not one of the {} allowed here", affinity, cpu, allowed.size()));
    }
  }
  return cpus;
}

}  // namespace deepgap
