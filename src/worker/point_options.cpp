#include "worker/point_options.h"

#include "base/messages.h"
#include "base/option_values.h"
#include "base/text.h"
#include "record/dataset_hash.h"
#include "record/point_option.h"
#include "record/tuning_mark.h"
#include "scenario/mlperf/run_options.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace deepgap {
namespace {

constexpr std::string_view environment_prefix = "env.";
constexpr std::string_view secret_variable = "env.DEEPGAP_KSERVE_TOKEN";
constexpr std::string_view quantize_prefix = "quantize.";
constexpr std::string_view mlperf_prefix = "mlperf_";

template <typename T>
bool has_option(const std::vector<T>& options, std::string_view name) {
  return std::any_of(options.begin(), options.end(), [&](const T& option) { return option.name == name; });
}

const OptionInfo& option_called(const std::vector<OptionInfo>& options, const std::string& name) {
  return *std::find_if(options.begin(), options.end(), [&](const OptionInfo& option) { return option.name == name; });
}

[[noreturn]] void wrong_value(const std::string& name, const std::string& value, std::string_view wanted) {
  throw Error(ErrorKind::usage, invalid_value(value, name, wanted));
}

int64_t whole(const std::string& name, const std::string& value, int64_t least, int64_t most) {
  const auto number = parse_int(value);
  if (!number || *number < least || *number > most) wrong_value(name, value, fmt::format("a whole number from {} to {}", least, most));
  return *number;
}

double share(const std::string& name, const std::string& value) {
  const auto percent = value.ends_with('%') ? parse_double(value.substr(0, value.size() - 1)) : std::nullopt;
  if (!percent || !(*percent >= 0) || *percent > 100) wrong_value(name, value, "a percentage from 0% to 100%");
  return *percent / 100;
}

int64_t accuracy_samples(const std::string& value) {
  const auto number = parse_int(value);
  if (!number || *number < 1) wrong_value("accuracy", value, "all, off, or a number of samples");
  return *number;
}

void set_bounds(PointOptions& sorted, const std::string& value) {
  for (LatencyBound& bound : parse_latency_bounds(value)) {
    if (bound.metric == "latency")
      sorted.bound = std::move(bound);
    else
      sorted.token_bounds.push_back(std::move(bound));
  }
}

void set_own(PointOptions& sorted, const std::string& name, const std::string& value) {
  if (set_dispatch_option(sorted.dispatch, name, value) || set_train_option(sorted.train, name, value) ||
      set_generate_option(sorted.generate, name, value))
    return;
  if (name == "seed") sorted.seed = static_cast<uint64_t>(whole(name, value, 0, INT64_MAX));
  if (name == "labels") sorted.labels = value;
  if (name == "label_offset") sorted.label_offset = whole(name, value, -1'000'000, 1'000'000);
  if (name == "accuracy" && value != "all") sorted.accuracy_samples = value == "off" ? 0 : accuracy_samples(value);
  if (name == "arrivals") sorted.arrivals = whole(name, value, 0, 1'000'000);
  if (name == "samples") sorted.samples = whole(name, value, 1, 65'536);
  if (name == "streams") sorted.streams = whole(name, value, 1, 1024);
  if (name == "shape") sorted.shapes = parse_shapes(value);
  if (name == "input") sorted.input_numbers = parse_input_numbers(value);
  if (name == "affinity") sorted.affinity = value;
  if (name == "failed_allowed") sorted.failed_allowed = share(name, value);
  if (name == "reference") sorted.reference = value;
  if (name == "bound") set_bounds(sorted, value);
  if (name == "peak") {
    if (value != "search" && value != "confirm" && value != "refine")
      wrong_value(name, value, "search, confirm or refine; --find-peak sets it");
    sorted.peak_search = true;
    sorted.ends_when_hopeless = value != "refine";  // ending early by the results would report too high a share of late queries
  }
  if (name == tuning_mark && value != "search" && value != "confirm") wrong_value(name, value, "search or confirm; deepgap tune sets it");
  if (name == "inputs") sorted.inputs = input_place(value);
  if (name == "telemetry_period") parse_telemetry_period(value);  // the group takes it; here it is only looked at
}

// Its value is looked at with the scenario (mlperf_run.h).
void require_mlperf_option(const Point& point, const std::string& name) {
  std::vector<std::string> known;
  for (const LoadgenOption& option : loadgen_options()) known.push_back(option.name);
  if (std::find(known.begin(), known.end(), name) == known.end()) throw Error(ErrorKind::usage, unknown_name("option", name, known));
  if (!point.options.contains("mlperf"))
    throw Error(ErrorKind::usage, fmt::format("{} applies to MLPerf runs: add --mlperf ROUND, or leave it out", name));
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
    if (has_option(scenarios.make("scenario", name)->options(), option)) found.push_back(name);
  }
  return found;
}

[[noreturn]] void unknown_option(const Point& point, const std::string& name, const std::vector<OptionInfo>& backend,
                                 const std::vector<ScenarioOption>& scenario) {
  if (const auto others = scenarios_with(name); !others.empty()) {
    throw Error(ErrorKind::usage,
                fmt::format("'{}' is not an option of scenario {}; it belongs to {}", name, point.scenario, join(others, ", ")));
  }
  std::vector<std::string> known;
  for (const auto& option : backend) known.push_back(option.name);
  for (const auto& option : scenario) known.push_back(option.name);
  for (const auto& option : worker_options()) known.push_back(option.name);
  throw Error(ErrorKind::usage, unknown_name(fmt::format("option of {}", point.backend), name, known));
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

// "1x3x224", "Nx3": -1 for N.
std::optional<std::vector<int64_t>> parse_sizes(std::string_view text) {
  std::vector<int64_t> sizes;
  for (const std::string& size : split(text, 'x')) {
    const auto number = size == "N" ? std::optional<int64_t>(-1) : parse_int(size);
    if (!number || *number < -1 || *number > INT32_MAX) return std::nullopt;
    sizes.push_back(*number);
  }
  return sizes;
}

}  // namespace

std::vector<OptionInfo> worker_options() {
  std::vector<OptionInfo> options{
      {"seed", "seed of weights and samples", "1", true},
      {"arrivals", "index of the random arrivals drawn from the seed; tenants have different ones", "0"},
      {"samples", "number of different samples that a batch cycles through", "4"},
      {"labels", "file of the dataset's labels; --labels sets it", ""},
      {"label_offset", "number added to each label, 1 for a network whose class 0 is the background", "0"},
      {"accuracy", "labelled samples to answer, untimed, for accuracy_top1: all, off, or a number", "all"},
      {"streams", "queries that the session can process at the same time, at least", "1"},
      {"shape", "sizes of open inputs: input:1x3x224x224, several joined by '/'", "", true},
      {"input", "numbers of inputs in samples that are made up: k=5, sizes=1x3x8x8, several inputs joined by '/'; --input sets it", ""},
      {"affinity", "CPUs of the worker: none, first (as many as threads), near or far (from the GPU's socket), or a list 0-3/8", "none",
       true},
      {"telemetry_period", "time between two readings of the probes (1s for a server's client)", "100ms", true},
      {"bound", "latency SLO that a valid result meets: p99=15ms; of generation also ttft.p99=500ms,tpot.p99=50ms", ""},
      {"failed_allowed", "largest share of queries that a server may fail in a valid result: 1%", "0%"},
      {"reference", "ONNX file of a server's model, to compare its outputs with; --reference sets it", "", true},
      {"peak", "role of a run in a peak search: search, confirm or refine; --find-peak sets it", ""},
      {tuning_mark, "role of a run of deepgap tune: search or confirm; tune sets it", ""},
      {"inputs",
       "place of samples before a query, on a GPU. host: the query copies them; device: they are on the GPU, and the query gathers them; "
       "host-ready, ready: likewise, in the type and layout that the first operators read",
       "host"},
      {"tenant_cpus", "CPUs of tenants. share: each may use all CPUs; split: each is pinned to its part", "share"},
      {"tenant", "index of this tenant: 1/2; --tenant sets it", ""},
      {"tenants", "models that are measured together; --tenant sets it", ""},
      {"contender", "index of this arm of an interleaved comparison: 1/2; --duel sets it", ""},
      {"duel", "axis and arms of an interleaved comparison; --duel sets it", ""},
      {"mlperf_NAME", "options of an MLPerf run, listed in docs/reference/scenarios.md", ""},
      {"env.NAME", "environment variable of the worker", "", true}};
  for (OptionInfo& option : dispatch_option_infos()) options.push_back(std::move(option));
  for (OptionInfo& option : end_to_end_option_infos()) options.push_back(std::move(option));
  for (OptionInfo& option : train_option_infos()) options.push_back(std::move(option));
  for (OptionInfo& option : generate_option_infos()) options.push_back(std::move(option));
  for (const QuantizeOption& option : quantize_options())
    options.push_back({std::string(quantize_prefix) + option.name, "precision int8: " + option.describe, option.default_value});
  return options;
}

Nanoseconds parse_telemetry_period(const std::string& text) {
  const auto period = parse_duration(text);
  if (!period || *period < 1'000'000 || *period > 3'600'000'000'000) {
    wrong_value("telemetry_period", text, "a time between 1ms and 1h such as 100ms or 1s");
  }
  return *period;
}

namespace {

// The list is made once: every Point of a large Plan asks for it.
const std::vector<OptionInfo>& own_options() {
  static const std::vector<OptionInfo> options = worker_options();
  return options;
}

void set_train_defaults(const Point& point, PointOptions& sorted) {
  sorted.samples = train_samples(point);
  const std::string optimizer = option_of(point, "optimizer");
  if (optimizer == "adam" || optimizer == "adamw") sorted.train.learning_rate = 0.001;
  if (optimizer == "adamw") sorted.train.weight_decay = 0.01;
}

// Hands each option of a Point to what it is for. Throws Error{usage} for one that nothing takes.
class OptionSorter {
 public:
  OptionSorter(const Point& point, const std::vector<OptionInfo>& backend, const std::vector<ScenarioOption>& scenario)
      : point_(point), backend_(backend), scenario_(scenario) {
    if (trains(point)) set_train_defaults(point, sorted_);
    if (generates(point)) sorted_.samples = usual_prompts;
    for (const auto& [name, value] : point.options) {
      if (!sort_by_prefix(name, value)) sort_plain(name, value);
    }
    // It goes before the plain one.
    if (const auto given = point.options.find(point.backend + ".inputs"); given != point.options.end())
      set_own(sorted_, "inputs", given->second);
  }
  PointOptions take() && {
    for (const auto& [name, value] : sorted_.backend) check_option(point_.backend, option_called(backend_, name), value);
    sorted_.train.seed = sorted_.seed;
    if (!sorted_.token_bounds.empty() && !generates(point_))
      throw Error(ErrorKind::usage,
                  fmt::format("the SLO {} applies to generation: add --task generate, or leave it out", sorted_.token_bounds.front().text));
    sorted_.end_to_end = end_to_end_options(point_.options);
    sorted_.quantize = quantize_settings(quantize_, std::string(quantize_prefix));
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
    if (name.starts_with(quantize_prefix)) {
      if (!has_option(own_options(), name)) unknown_option(point_, name, backend_, scenario_);
      quantize_[name.substr(quantize_prefix.size())] = value;
      return true;
    }
    if (name == dataset_hash_option) return true;  // the inspection's
    if (name == "mlperf" || name.starts_with(mlperf_prefix)) {
      require_mlperf_option(point_, name);
      return true;
    }
    if (name == "rate" && point_.options.contains("mlperf")) return true;  // its target_qps
    const auto parts = prefixed(name);
    if (!parts) return false;
    if (parts->first == point_.backend && parts->second != "inputs") {  // else another engine's, or taken last
      if (!has_option(backend_, parts->second)) unknown_option(point_, name, backend_, scenario_);
      sorted_.backend[parts->second] = value;
    }
    return true;
  }
  void sort_plain(const std::string& name, const std::string& value) {
    const bool ours = has_option(own_options(), name), of_backend = has_option(backend_, name), of_scenario = has_option(scenario_, name);
    if (!ours && !of_backend && !of_scenario) unknown_option(point_, name, backend_, scenario_);
    if (ours) set_own(sorted_, name, value);
    if (of_backend) sorted_.backend.emplace(name, value);  // what was said with a prefix goes first
    if (of_scenario) sorted_.scenario[name] = value;
  }

  const Point& point_;
  const std::vector<OptionInfo>& backend_;
  const std::vector<ScenarioOption>& scenario_;
  PointOptions sorted_;
  std::map<std::string, std::string> quantize_;
};

}  // namespace

PointOptions sort_options(const Point& point, const std::vector<OptionInfo>& backend, const std::vector<ScenarioOption>& scenario) {
  require_train_options(point);
  require_generate_options(point);
  return OptionSorter(point, backend, scenario).take();
}

InputPlace input_place(const std::string& value) {
  if (value == "host") return InputPlace::host;
  if (value == "device") return InputPlace::device;
  if (value == "ready") return InputPlace::ready;
  if (value == "host-ready") return InputPlace::host_ready;
  throw Error(ErrorKind::usage, unknown_name("inputs", value, {"host", "host-ready", "device", "ready"}));
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
  if (trains(point)) request.batch_sizes = train_batch_sizes(point, options.train);
  return request;
}

bool is_in_virtual_time(const Point& point) { return option_of(point, point.backend + ".clock", option_of(point, "clock")) == "virtual"; }

std::map<std::string, std::vector<int64_t>> parse_shapes(const std::string& text) {
  constexpr std::string_view wanted = "a shape such as input:1x3x224x224 (N stands for the batch), several joined by '/'";
  std::map<std::string, std::vector<int64_t>> shapes;
  if (text.empty()) return shapes;
  std::string input;  // names may hold '/' too: one ends where sizes are
  for (const std::string& part : split(text, '/')) {
    input += (input.empty() ? "" : "/") + part;
    const size_t colon = input.rfind(':');
    if (colon == std::string::npos || colon == 0) continue;
    const auto sizes = parse_sizes(std::string_view(input).substr(colon + 1));
    if (!sizes) continue;
    shapes[input.substr(0, colon)] = *sizes;
    input.clear();
  }
  if (!input.empty()) wrong_value("shape", text, wanted);
  return shapes;
}

namespace {

std::optional<double> input_number(const std::string& text) {
  if (text == "true" || text == "false") return text == "true" ? 1 : 0;
  return parse_double(text);
}

// "1x3x8", "1,3,8"; nullopt: one of them is not a number.
std::optional<std::vector<double>> input_numbers(std::string text) {
  std::replace(text.begin(), text.end(), ',', 'x');
  std::vector<double> numbers;
  for (const std::string& part : split(text, 'x')) {
    const auto number = input_number(trim(part));
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace

InputNumbers parse_input_numbers(const std::string& text) {
  InputNumbers all;
  if (text.empty()) return all;
  std::string input;  // names may hold '/' too: one ends where numbers are
  for (const std::string& part : split(text, '/')) {
    input += (input.empty() ? "" : "/") + part;
    const size_t equals = input.rfind('=');
    if (equals == std::string::npos || equals == 0) continue;
    const auto numbers = input_numbers(input.substr(equals + 1));
    if (!numbers) continue;
    all[input.substr(0, equals)] = *numbers;
    input.clear();
  }
  if (!input.empty())
    throw Error(
        ErrorKind::usage,
        fmt::format("invalid value '{}' for --input: expected NAME=NUMBERS such as k=5, sizes=1,3,224,224 or use_cache=true", text));
  return all;
}

std::string process_key(const Point& point, const std::vector<OptionInfo>& backend) {
  std::string key;
  const std::vector<OptionInfo>& own = own_options();
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
