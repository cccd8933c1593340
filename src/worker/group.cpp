#include "worker/group.h"
#include "worker/run_rules.h"

#include "base/clocks.h"
#include "base/text.h"
#include "dataset/open_dataset.h"
#include "model/integer_values.h"
#include "model/model_source.h"
#include "model/onnx_metadata.h"
#include "model/onnx_test_set.h"
#include "record/point_option.h"
#include "record/record_json.h"
#include "record/task_traits.h"
#include "record/tenant_set.h"
#include "telemetry/environment.h"
#include "telemetry/gpu_copies.h"
#include "worker/classes.h"
#include "worker/kept_sessions.h"
#include "worker/memory_limit.h"
#include "worker/process_facts.h"
#include "worker/remote_model.h"
#include "worker/task_work.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace deepgap {
namespace {

// Returns whether processes that measure together each get a part of the CPUs: ranks on one CPU would otherwise all pin their engines'
// threads to the same ones; tenants as they were asked to.
bool shares_out_cpus(const Point& point) {
  return tenant_place(point) ? splits_cpus(point) : point.placement.devices.front().kind == "cpu";
}

// The time between two readings of the probes when a server is measured. They describe only its client, and reading ten times a second
// would take a sixth of its CPU time at 50 queries a second.
constexpr Nanoseconds period_of_clients = 1'000'000'000;

std::string cpu_list(const std::vector<int>& cpus) {
  std::vector<std::string> texts;
  for (const int cpu : cpus) texts.push_back(std::to_string(cpu));
  return join(texts, ",");
}

// While a GPU computes, its host has CPUs to spare, and a small network takes no longer than waking a thread.
Nanoseconds linger_for(const Point& point, size_t cpus) {
  constexpr Nanoseconds most = 20'000'000;
  const bool computed_here = std::any_of(point.placement.devices.begin(), point.placement.devices.end(),
                                         [](const DeviceId& device) { return device.kind == "cpu"; });
  return computed_here || cpus < 4 ? 0 : most;
}

DatasetRequest dataset_request(const Point& point, const PointOptions& options, const GraphSummary& summary) {
  DatasetRequest request;
  request.name = point.dataset;
  request.inputs = summary.inputs;
  if (!is_remote(point.placement)) request.preprocessing = preprocessing_for(point.model);
  request.seed = options.seed;
  request.numbers = options.input_numbers;
  request.size = std::max({request.size, static_cast<size_t>(options.samples), library_size(point)});
  request.data_dir = default_data_dir();
  request.labels = options.labels;
  request.label_offset = options.label_offset;
  const auto classes = class_count(summary.outputs);
  if (!classes && !options.labels.empty())
    throw Error(ErrorKind::usage,
                fmt::format("labels need a classifier, whose output is a score for each class; {} is not one", point.model));
  request.classes = classes.value_or(0);
  return request;
}

}  // namespace

ModelRequest model_request(const Point& point, const PointOptions& options, const std::string& cache_dir) {
  ModelRequest request{point.model, point.weights, options.seed, options.shapes, cache_dir, default_data_dir()};
  request.task = point.task;
  request.numbers = options.input_numbers;
  return sized_by_dataset(std::move(request), point.dataset);
}

std::unique_ptr<Dataset> open_samples(const Point& point, const PointOptions& options, const GraphSummary& summary,
                                      const std::vector<SteeringInput>& steering, std::map<std::string, IntegerRange> integers) {
  if (task_traits(point.task).tokens) {
    const GenerateOptions& generate = options.generate;
    return open_prompts({point.dataset, generate.prompt_tokens, generate.output_tokens, generate.shared_prefix, generate.reuse,
                         options.seed, options.samples});
  }
  DatasetRequest request = dataset_request(point, options, summary);
  request.integer_values = std::move(integers);
  request.numbers = with_given(steering, request.numbers);
  return open_dataset(request);
}

LoadedModelKey loaded_model_key(const Point& point) {
  LoadedModelKey key{model_key(point), point.task};
  if (is_remote(point.placement)) key.model.server = placement_name(point.placement);
  if (!onnx_test_sets(point.dataset).empty()) key.model.sized_by = point.dataset;
  return key;
}

bool needs_quantizing(const Point& point, bool computes, const GraphSummary& summary) {
  if (!computes || point.task != Task::infer || is_remote(point.placement)) return false;
  return point.precision == Precision::int8 && !has_quantization(summary);
}

GraphSummary engine_summary(const Point& point, bool computes, const GraphSummary& summary) {
  if (!needs_quantizing(point, computes, summary)) return summary;
  GraphSummary quantized = summary;
  for (const char* op : {"DequantizeLinear", "QuantizeLinear"}) quantized.operators.push_back({op, "", 1, "made by quantizing"});
  std::sort(quantized.operators.begin(), quantized.operators.end(), [](const auto& a, const auto& b) { return a.op < b.op; });
  return quantized;
}

Group::Group(Heartbeat& heartbeat, ProgramState program) : heartbeat_(heartbeat), program_(std::move(program)) {}

Group::~Group() = default;

void Group::keep_sessions(std::unique_ptr<KeptSessions> sessions) { sessions_ = std::move(sessions); }

std::unique_ptr<KeptSessions> Group::take_sessions(const std::string& key) {
  if (sessions_ != nullptr && (key.empty() || sessions_->key != key)) drop_sessions();
  return std::move(sessions_);
}

// The memory that they had is not the order's.
void Group::drop_sessions() {
  if (sessions_ == nullptr) return;
  sessions_.reset();
  reset_host_memory_peak();
}

Clock& Group::clock(const WorkOrder& order) {
  if (!clock_ && is_in_virtual_time(order.point)) clock_ = make_virtual_clock();
  if (!clock_) clock_ = make_real_clock(linger_for(order.point, allowed_cpus().size()));
  return *clock_;
}

const NodeChecks& Group::node_checks(const std::string& key, const std::function<NodeChecks()>& make) {
  const auto found = node_checks_.find(key);
  return found != node_checks_.end() ? found->second : node_checks_.emplace(key, make()).first->second;
}

Backend& Group::backend(const WorkOrder& order) {
  if (plugin_ && plugin_name_ != order.point.backend) {
    throw Error(ErrorKind::internal, fmt::format("a worker of {} was given a point of {}", plugin_name_, order.point.backend));
  }
  if (!plugin_) {
    const auto affinity = order.point.options.find("affinity");
    if (affinity != order.point.options.end()) {
      const auto side = gpu_side(affinity->second);
      const std::vector<int> cpus = side ? cpus_beside(*side, order.point.placement.devices, environment(order), allowed_cpus())
                                         : affinity_cpus(affinity->second, order.point.threads, allowed_cpus());
      if (!cpus.empty()) pin_thread(cpus);  // threads that the engine starts later inherit it
    }
    const bool pinned = affinity != order.point.options.end() && affinity->second != "none";
    if (order.ranks > 1 && shares_out_cpus(order.point) && !pinned) {
      pin_thread(cpu_share(allowed_cpus(), order.rank, order.ranks));
    }
    plugin_ = open_plugin(order.point.backend);
    plugin_name_ = order.point.backend;
    const std::string path = plugin_path(plugin_name_);
    plugin_file_ = {path, plugin_hash(path)};
  }
  return plugin_->backend();
}

// Where the plug-in is not opened, as when a reference is made, a server's Model is not needed.
void Group::open_models(const WorkOrder& order, const PointOptions& options) {
  served_.reset();
  if (!is_remote(order.point.placement)) {
    model_ = open_model(model_request(order.point, options, order.cache_dir));
    return;
  }
  if (!options.reference.empty()) model_ = open_model(reference_request(order.point, options, order.cache_dir));
  if (plugin_ != nullptr) served_ = served_model(plugin_->backend(), order.point, options, model_.get());
  if (model_ == nullptr) model_ = served_;
  if (model_ == nullptr)
    throw Error(ErrorKind::internal, "a server's model without a reference was asked for in a process without plug-in");
}

// False: those of the order before serve this one too.
bool Group::open_other_models(const WorkOrder& order, const PointOptions& options) {
  const LoadedModelKey wanted = loaded_model_key(order.point);
  if (model_ != nullptr && wanted == model_key_) return false;
  drop_sessions();
  targeted_.reset();
  dataset_.reset();
  model_.reset();
  const Nanoseconds begin = clock(order).now();
  open_models(order, options);
  load_s_ = static_cast<double>(clock(order).now() - begin) / 1e9;
  model_key_ = wanted;
  return true;
}

void Group::open_other_dataset(const WorkOrder& order, const PointOptions& options) {
  DatasetKey wanted = dataset_key(order.point);
  wanted.least = library_size(order.point);
  wanted.samples = std::to_string(options.samples);  // may follow from the batch
  if (dataset_ && wanted == dataset_key_) return;
  drop_sessions();
  targeted_.reset();
  const Graph& graph = model_->graph();
  dataset_ = open_samples(order.point, options, model_->summary(), steering_inputs(graph), integer_values(graph));
  samples_.resize(std::min<size_t>(dataset_->size(), static_cast<size_t>(options.samples)));
  std::iota(samples_.begin(), samples_.end(), 0U);
  dataset_key_ = wanted;
}

// Each rank begins elsewhere, so that together they take larger batches of the same samples.
void Group::add_targets(const WorkOrder& order, const PointOptions& options, Inputs& inputs) {
  targeted_ = task_work(order.point).targeted(*dataset_, model_->summary().outputs, options);
  if (targeted_ == nullptr) return;
  targeted_->load(samples_);
  inputs.dataset = targeted_.get();
  const size_t first = samples_.size() * static_cast<size_t>(order.rank) / static_cast<size_t>(order.ranks);
  std::rotate(inputs.samples.begin(), inputs.samples.begin() + static_cast<std::ptrdiff_t>(first), inputs.samples.end());
}

Group::Inputs Group::inputs(const WorkOrder& order, const PointOptions& options) {
  const bool shared = !open_other_models(order, options);
  find_engine_model(order, options);
  open_other_dataset(order, options);
  const auto lack = [&] {
    return lack_of_memory(model_->summary().inputs, samples_.size(), order.point.batch, memory_for_worker(SystemRoot("/")));
  };
  if (!lack().empty()) {
    drop_sessions();
    if (const std::string still = lack(); !still.empty()) throw Error(ErrorKind::out_of_memory, still);
  }
  dataset_->load(samples_);  // a run by rules unloads what it has loaded
  heartbeat_.beat();
  Inputs inputs{model_, served_ == nullptr ? model_ : served_, {}, dataset_.get(), samples_, load_s_, shared};
  add_targets(order, options, inputs);
  if (needs_quantizing(order.point)) {
    inputs.engine_model = quantized_;
    inputs.quantize_facts = quantize_facts_;
  } else if (order.point.precision == Precision::int8 && served_ == nullptr && has_quantization(model_->summary())) {
    inputs.quantize_facts = quantized_facts(read_onnx_metadata(order.point.model));
  }
  return inputs;
}

// Where no plug-in is opened, a reference or a QDQ form is made: for an engine that computes.
bool Group::needs_quantizing(const Point& point) const {
  return deepgap::needs_quantizing(point, plugin_ == nullptr || plugin_->backend().computes(), model_->summary());
}

Group::Calibration Group::calibration(const WorkOrder& order, const PointOptions& options) const {
  const ModelRequest request = model_request(order.point, options, order.cache_dir);
  CalibrationSamples samples = calibration_samples(request, *model_, options.quantize, order.point.dataset);
  std::string key = quantized_key(*model_, samples, options.quantize);
  return {std::move(samples), std::move(key)};
}

void Group::find_engine_model(const WorkOrder& order, const PointOptions& options) {
  if (!needs_quantizing(order.point)) return;
  const QuantizedKey key{model_key_.model, order.point.dataset, quantize_options().values(options.quantize)};
  if (quantized_ != nullptr && key == quantized_key_) return;
  drop_sessions();
  const Nanoseconds begin = clock(order).now();
  const KeptQuantized found = find_quantized(order.cache_dir, calibration(order, options).key, model_->name());
  quantized_ = found.model;
  quantize_facts_ = found.facts;
  quantized_key_ = key;
  load_s_ += static_cast<double>(clock(order).now() - begin) / 1e9;
}

void Group::quantize(const WorkOrder& order, const PointOptions& options) {
  const Calibration wanted = calibration(order, options);
  const int threads = std::max(order.point.threads, 1);
  keep_quantized(order.cache_dir, wanted.key, quantize_model(*model_, wanted.samples, options.quantize, threads));
}

Telemetry& Group::telemetry(const WorkOrder& order) {
  if (!telemetry_) {
    TelemetrySettings settings;
    settings.devices = order.point.placement.devices;
    const auto period = order.point.options.find("telemetry_period");
    if (period != order.point.options.end()) {
      settings.period = parse_time(period->second).value_or(settings.period);
    } else if (is_remote(order.point.placement)) {
      settings.period = period_of_clients;
    }
    telemetry_ = start_telemetry(clock(order), settings);
  }
  return *telemetry_;
}

const Facts& Group::environment(const WorkOrder& order) {
  if (environment_.empty()) {
    environment_ = capture_environment();
    environment_["deepgap.version"] = program_.version;
    environment_["deepgap.git"] = program_.git_state;
    environment_["cpus.allowed"] = cpu_list(allowed_cpus());
    if (telemetry_) environment_.merge(telemetry_->environment());
    add_kept_copies(order.cache_dir, environment_);
  }
  return environment_;
}

}  // namespace deepgap
