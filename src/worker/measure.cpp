#include "worker/measure.h"

#include "base/text.h"
#include "record/point_option.h"
#include "record/tenant_set.h"
#include "scenario/end_to_end_target.h"
#include "telemetry/affinity.h"
#include "telemetry/environment.h"
#include "worker/accuracy.h"
#include "worker/bounded_window.h"
#include "worker/check.h"
#include "worker/classes.h"
#include "worker/dispatch_record.h"
#include "worker/energy_windows.h"
#include "worker/first_result.h"
#include "worker/instances.h"
#include "worker/load_verdict.h"
#include "worker/mark_meter.h"
#include "worker/mlperf_run.h"
#include "worker/node_verdict.h"
#include "worker/peak_probe.h"
#include "worker/picture_preparer.h"
#include "worker/process_facts.h"
#include "worker/quantized_model.h"
#include "worker/reference.h"
#include "worker/stage_record.h"
#include "worker/timing_log.h"
#include "worker/urgent_share.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

namespace deepgap {
namespace {

// Once the process is pinned, where it is to be.
int decode_threads_of(const Point& point, const PointOptions& options) {
  return decode_threads(point, options.end_to_end, std::min(allowed_cpus().size(), measured_cpus().size()));
}

// Queries in the stages at a time, end to end.
int64_t lanes_of(const Point& point, const PointOptions& options) {
  return lanes(point, options.end_to_end, options.dispatch, decode_threads_of(point, options), options.streams);
}

// As the engine was told: native.streams=4 goes before streams.
int64_t asked_streams(const PointOptions& options) {
  const auto own = options.backend.find("streams");
  const auto count = own == options.backend.end() ? std::nullopt : parse_int(own->second);
  return count.value_or(options.streams);
}

// What keeps streams from doing what they are for; empty: nothing.
std::string streams_note(int64_t streams, int64_t in_flight, size_t cpus) {
  if (streams <= 1) return {};
  if (streams > static_cast<int64_t>(cpus)) return fmt::format("{} streams share {} CPUs", streams, cpus);
  if (streams > in_flight) return fmt::format("{} of {} streams are kept busy: in_flight is {}", in_flight, streams, in_flight);
  return {};
}

// A closed loop that nobody told otherwise keeps one query in flight; over several Sessions that is one for each.
void keep_sessions_busy(const Point& point, const std::vector<ScenarioOption>& known, PointOptions& options) {
  const size_t sessions = instance_loads(point, options.dispatch).size();
  for (const ScenarioOption& option : known) {
    if (option.name == "in_flight" && option.default_value == "1") options.scenario.emplace(option.name, std::to_string(sessions));
  }
}

// A closed loop that nobody told otherwise keeps as many queries in flight as are to overlap.
void keep_lanes_busy(const Point& point, const std::vector<ScenarioOption>& known, PointOptions& options) {
  if (options.end_to_end.mode != EndToEnd::overlapped) return;
  const int64_t wanted = lanes_of(point, options);
  for (const ScenarioOption& option : known) {
    if (option.name == "in_flight" && !option.default_value.empty()) options.scenario.emplace(option.name, std::to_string(wanted));
  }
}

// The scenario's own length of the window where nobody asked for another ending: the rule that Study files and flags begin with.
void apply_default_duration(const Scenario& scenario, StoppingSettings& settings) {
  const StoppingSettings unasked;
  if (settings.name != unasked.name || settings.interval != unasked.interval || settings.target != unasked.target) return;
  const Nanoseconds own = scenario.default_duration();
  if (own == 0) return;
  settings.name = own == never ? "schedule" : "duration";
  if (own != never) settings.duration = std::max(own, settings.duration.value_or(0));  // not below --min-duration
}

// Queries a second, of a scenario that has a rate; else 0.
double offered_rate(const Point& point) { return parse_double(option_of(point, "rate")).value_or(0); }

// Of a loop that waits for answers.
Nanoseconds pause_between_queries(const Point& point) {
  Nanoseconds pause = 0;
  for (const char* option : {"period", "think_time"}) pause += parse_duration(option_of(point, option)).value_or(0);
  return pause;
}

// The state of one order while it runs; `record` is what is known so far.
class Measurement {
 public:
  Measurement(const WorkOrder& order, Group& group, Pulse& pulse, const Barrier& barrier, const std::atomic<bool>& interrupted)
      : order_(order),
        group_(group),
        pulse_(pulse),
        barrier_(barrier),
        interrupted_(interrupted),
        clock_(group.clock(order)),
        record_(begin_record(order)) {}

  // False: a reference is needed first.
  bool run();
  Record finish();
  void fail(Outcome outcome, const std::string& reason) { fail_record(record_, outcome, reason); }

 private:
  void prepare();
  bool has_engine_model();
  bool find_reference_outputs();
  void idle();
  void load();
  Dataset& session_inputs();
  Target& fed(Target& target, int64_t lanes, int64_t batch);
  int64_t slots_of_a_session() const;
  void first_results();
  void check(const Instances::Instance& instance);
  int64_t labelled_samples() const;
  void accuracy(int64_t samples);
  void warm_up();
  void wait_for_other_ranks();
  bool window_may_grow() const;
  void steady();
  void mlperf();
  void trim_steady_window(const TimingLog& log);
  void note_precisions();
  void drive(Target& target, Stopping& stopping, TimingSink& sink, Nanoseconds duration, OfferedLoad* offered);
  std::string keep_dispatch();
  void judge(const Stopping& stopping, const LoadVerdict& load);
  bool stop_if_interrupted();

  // Runs `work` as a stage with its window.
  template <typename Work>
  void stage(const std::string& name, Work work) {
    pulse_.enter(name);
    record_.windows.push_back({name, clock_.now(), 0});
    const size_t index = record_.windows.size() - 1;
    work();
    record_.windows[index].end = clock_.now();
  }
  // ... with telemetry read at both edges: of the windows that telemetry is asked about. A reading of a GPU costs milliseconds.
  template <typename Work>
  void observed_stage(const std::string& name, Work work) {
    group_.telemetry(order_).edge();
    stage(name, work);
    group_.telemetry(order_).edge();
  }

  const WorkOrder& order_;
  Group& group_;
  Pulse& pulse_;
  const Barrier& barrier_;
  const std::atomic<bool>& interrupted_;
  Clock& clock_;
  Record record_;
  Nanoseconds begin_ = 0;
  bool energy_is_read_ = false;
  PointOptions options_;
  Group::Inputs inputs_;
  Backend* backend_ = nullptr;
  std::unique_ptr<Scenario> scenario_;
  std::optional<Reference> reference_;
  std::optional<InputBuffers> input_buffers_;  // end to end: of the Sessions, which must go first
  std::optional<Instances> instances_;
  std::unique_ptr<EndToEndTarget> end_to_end_;  // around a Session of instances_ while it is checked, then around all joined
  Target* target_ = nullptr;                    // what is driven: all of instances_ joined, or end_to_end_
  std::map<std::string, Estimate> accuracy_;
  std::vector<Series> own_series_;  // besides the probes'
};

bool Measurement::run() {
  reset_host_memory_peak();
  begin_ = clock_.now();
  record_.facts["clock.begin_ns"] = static_cast<int64_t>(begin_);  // at started_unix_ns
  pulse_.enter("load");
  // Before the plug-in is opened and the process pinned: the probes' thread keeps off the measured CPUs, and the facts are the machine's.
  group_.telemetry(order_);
  group_.environment();
  prepare();
  if (!has_engine_model() || !find_reference_outputs()) return false;
  idle();
  stage("load", [&] { load(); });
  if (stop_if_interrupted()) return true;
  stage("check", [&] { first_results(); });
  if (record_.outcome != Outcome::ok || stop_if_interrupted()) return true;
  if (const int64_t samples = labelled_samples(); samples > 0) stage("accuracy", [&] { accuracy(samples); });
  if (stop_if_interrupted()) return true;
  stage("warm_up", [&] { warm_up(); });
  wait_for_other_ranks();
  if (stop_if_interrupted()) return true;
  is_mlperf(order_.point) ? mlperf() : steady();
  record_.host_memory_peak_bytes = host_memory_peak_bytes();
  record_.estimates.merge(accuracy_);
  note_precisions();
  return true;
}

// Once a process, since later nothing is idle any more: what the first order saw stands for the others where it tells a power.
void Measurement::idle() {
  energy_is_read_ = reads_energy(group_.telemetry(order_));
  if (group_.take_first_order()) {
    observed_stage("idle", [&] { clock_.wait_until(clock_.now() + idle_length(order_.stopping, energy_is_read_)); });
    group_.idle_window() = record_.windows.back();
  } else if (energy_is_read_ && group_.idle_window()) {
    record_.windows.push_back(*group_.idle_window());
  }
}

bool Measurement::stop_if_interrupted() {
  if (!interrupted_.load()) return false;
  fail(Outcome::interrupted, "interrupted by the user");
  return true;
}

void Measurement::prepare() {
  backend_ = &group_.backend(order_);
  record_.backend_version = backend_->version();
  record_.facts["backend.plugin"] = plugin_path(order_.point.backend);
  scenario_ = scenario_of(order_.point);
  options_ = sort_options(order_.point, backend_->options(), scenario_->options());
  keep_lanes_busy(order_.point, scenario_->options(), options_);
  keep_sessions_busy(order_.point, scenario_->options(), options_);
  if (options_.peak_search) draw_own_arrivals(options_, scenario_->options(), order_.repeat);
  if (options_.arrivals > 0) draw_own_arrivals(options_, scenario_->options(), static_cast<int>(options_.arrivals));
  scenario_->parse(options_.scenario);
  apply_default_duration(*scenario_, record_.stopping);
  inputs_ = group_.inputs(order_, options_);
  const GraphSummary& summary = inputs_.model->summary();
  record_.load_s = inputs_.load_s;
  record_.facts["load.shared"] = inputs_.shared;
  record_.dataset_description = inputs_.dataset->describe();
  record_.facts["dataset.samples"] = static_cast<int64_t>(inputs_.samples.size());
  record_.facts["model.content_hash"] = summary.content_hash;
  record_.parameters = summary.parameters;
  record_.macs_per_item = summary.macs_per_item;
  record_.flop_per_item = summary.flop_per_item;
  record_.bytes_per_item = summary.bytes_per_item;
  const Support support = supports_everywhere(*backend_, order_.point, engine_summary(order_.point, summary), options_.dispatch);
  if (!support.ok) throw Error(ErrorKind::refused, support.reason);
}

bool Measurement::has_engine_model() {
  if (inputs_.engine_model == nullptr) {
    if (order_.reference_unavailable.empty()) return false;
    throw Error(ErrorKind::refused, fmt::format("cannot be quantized: {}", order_.reference_unavailable));
  }
  for (const auto& [name, fact] : inputs_.quantize_facts) record_.facts[name] = fact;
  return true;
}

bool Measurement::find_reference_outputs() {
  if (order_.point.backend == "null") {
    record_.facts["check"] = std::string("not needed: null computes nothing");
    return true;
  }
  if (!order_.check || !order_.reference_unavailable.empty()) {
    record_.unchecked = true;
    if (order_.check) record_.reason = "no reference: " + order_.reference_unavailable;  // of a result that has nothing worse to tell
    record_.facts["check"] = order_.check ? record_.reason : std::string("off");
    return true;
  }
  const std::string key = reference_key(*inputs_.model, *inputs_.dataset, inputs_.samples);
  reference_ = find_reference(order_.cache_dir, key, order_.point.backend);
  return reference_.has_value() &&
         reference_->outputs.size() == referenced_queries(batching_of(inputs_.model->summary().inputs), inputs_.samples.size());
}

void Measurement::load() {
  LoadOptions load;
  load.precision = order_.point.precision;
  load.task = order_.point.task;
  load.batch_sizes = batch_sizes(order_.point, options_.dispatch);
  load.slots = static_cast<int>(slots_of_a_session());
  load.cache_dir = order_.cache_dir;
  load.options = options_.backend;
  load.samples_change = options_.end_to_end.on();
  load.clock = &clock_;
  const Nanoseconds begin = clock_.now();
  instances_.emplace(*backend_, *inputs_.engine_model, session_inputs(), order_.point, options_.dispatch, load, [this] { pulse_.beat(); });
  record_.compile_s = static_cast<double>(clock_.now() - begin) / 1e9;
  record_.backend_version = backend_->version();  // some settle on a part of it when they load
  const auto sessions = static_cast<int64_t>(instances_->all().size());
  const int64_t slots = instances_->all().front().session->slots();
  record_.facts["session.slots"] = slots;
  record_.facts["cpus.affinity"] = affinity_of_this_thread();
  const bool all_slots = scenario_->uses_all_slots() || is_mlperf(order_.point);
  const int64_t in_flight = all_slots ? slots * sessions : scenario_->in_flight();
  const std::string note = streams_note(asked_streams(options_) * sessions, in_flight, allowed_cpus().size());
  if (!note.empty()) record_.facts["streams.note"] = note;
  if (!options_.end_to_end.on()) instances_->load(inputs_.samples);
}

Dataset& Measurement::session_inputs() {
  if (!options_.end_to_end.on()) return *inputs_.dataset;
  const TensorView item = inputs_.dataset->sample(inputs_.samples.front()).front();
  const int64_t lanes = lanes_of(order_.point, options_);
  return input_buffers_.emplace(item, std::max(lanes * order_.point.batch, largest_batch(order_.point, options_.dispatch)));
}

// The Target itself; end to end, one around it whose queries begin with picture files.
Target& Measurement::fed(Target& target, int64_t lanes, int64_t batch) {
  if (!options_.end_to_end.on()) return target;
  const int threads = decode_threads_of(order_.point, options_);
  auto preparer = std::make_unique<PicturePreparer>(*picture_source(*inputs_.dataset), threads, clock_);
  end_to_end_ = make_end_to_end_target(target, *input_buffers_, std::move(preparer), {lanes, batch, scenario_->in_flight()}, clock_);
  record_.facts["end_to_end.decode_threads"] = static_cast<int64_t>(threads);
  record_.facts["end_to_end.lanes"] = lanes;
  return *end_to_end_;
}

// What a closed loop keeps in flight lies in the Sessions, unless it is to wait for a batch to fill or to be decoded.
int64_t Measurement::slots_of_a_session() const {
  const auto sessions = static_cast<int64_t>(instance_loads(order_.point, options_.dispatch).size());
  if (options_.end_to_end.on()) return options_.streams;
  if (options_.dispatch.max_batch.value_or(order_.point.batch) > order_.point.batch) return options_.streams;
  return std::max(options_.streams, (scenario_->in_flight() + sessions - 1) / sessions);
}

// Every Session alone, so that each is checked; then they are joined.
void Measurement::first_results() {
  for (const Instances::Instance& instance : instances_->all()) {
    const int64_t batch = largest_batch(order_.point, options_.dispatch);
    const double ms = first_result_ms(fed(*instance.target, 1, batch), clock_, inputs_.samples, batch, interrupted_);
    end_to_end_.reset();  // it must let go of the Session's Target before that is joined
    pulse_.beat();
    record_.first_result_ms = std::max(ms, record_.first_result_ms.value_or(0));
    if (reference_ && !interrupted_.load()) check(instance);
    if (record_.outcome != Outcome::ok || interrupted_.load()) return;
  }
  Target& joined = instances_->join(dispatcher_settings(order_.point, options_.dispatch, scenario_->in_flight()), clock_);
  target_ = &fed(joined, lanes_of(order_.point, options_), order_.point.batch);
}

void Measurement::check(const Instances::Instance& instance) {
  const std::string where = instances_->all().size() > 1 ? instance.name + ": " : "";
  std::optional<CheckResult> result;
  try {
    result =
        compare_batch(*reference_, instance.session->outputs(0), largest_batch(order_.point, options_.dispatch),
                      batching_of(inputs_.model->summary().inputs), judged_precision(order_.point.precision, inputs_.model->summary()));
  } catch (const Error& error) {  // another type or shape is a wrong result
    return fail(Outcome::incorrect, fmt::format("{}wrong result: {}", where, error.what()));
  }
  if (!result) {
    record_.unchecked = true;
    record_.facts["check"] = std::string("no output has the batch as its first dimension");
    return;
  }
  if (!result->pass && is_judged_by_nodes(order_.point)) {
    NodeVerdict verdict = judge_by_nodes(order_.point, instance.device, options_, order_.cache_dir, group_, *result);
    record_.facts["check"] = std::move(verdict.words);
    result = std::move(verdict.result);
  }
  if (!record_.check || result->sqnr_db < record_.check->sqnr_db) record_.check = result;  // the worst one's
  if (result->pass) return;
  fail(Outcome::incorrect,
       fmt::format("{}outputs differ from the {}: SQNR {:.1f} dB, {} asks for {:.0f} dB (largest error {:.3g})", where, result->against,
                   result->sqnr_db, order_.point.precision, min_sqnr_db(order_.point.precision), result->max_abs_error));
}

void Measurement::drive(Target& target, Stopping& stopping, TimingSink& sink, Nanoseconds duration, OfferedLoad* offered) {
  Tenant tenant;
  tenant.target = &target;
  tenant.samples = inputs_.samples;
  tenant.batch = order_.point.batch;
  tenant.stopping = &stopping;
  tenant.sink = &sink;
  tenant.duration = duration;
  tenant.offered = offered;
  scenario_->drive(std::span(&tenant, 1), clock_, interrupted_);
}

// To be answered for their accuracy: once a Point, since other repeats would answer the same, and not in the runs of a search. An MLPerf
// run has a mode for it.
int64_t Measurement::labelled_samples() const {
  const bool once = order_.repeat == 0 && order_.sweep == 0 && order_.rank == 0;
  const bool searches = options_.peak_search || order_.point.options.contains("tune");
  if (!once || searches || order_.point.backend == "null" || is_mlperf(order_.point)) return 0;
  if (!inputs_.dataset->label(0) || !class_count(inputs_.model->summary().outputs)) return 0;
  const auto all = static_cast<int64_t>(inputs_.dataset->size());
  return std::min(all, options_.accuracy_samples.value_or(all));
}

void Measurement::accuracy(int64_t samples) {
  AccuracySettings settings;
  settings.batch = order_.point.batch;
  settings.in_flight = std::min<int64_t>(static_cast<int64_t>(instances_->all().size()), target_->limits().max_in_flight);
  settings.samples = samples;
  const AccuracyCount count = count_right_answers(
      *target_, clock_, *inputs_.dataset, settings, [this] { pulse_.beat(); }, interrupted_);
  accuracy_ = count.estimates();
  target_->load(inputs_.samples);  // they went with the others
}

void Measurement::warm_up() {
  instances_->reset_peak();
  const auto stopping = make_warmup(order_.stopping);
  TimingCounter counter(pulse_);
  drive(*target_, *stopping, counter, order_.stopping.warmup ? never : order_.stopping.warmup_budget, nullptr);
  record_.warmup_queries = counter.count();
  if (stopping->state() != Stopping::State::more) record_.facts["warm_up"] = stopping->reason();
}

void Measurement::wait_for_other_ranks() {
  if (order_.ranks == 1 || interrupted_.load()) return;
  pulse_.enter("barrier");
  const Nanoseconds begin = barrier_();
  while (clock_.now() < begin && !interrupted_.load()) clock_.wait_until(begin);
}

// Tenants and ranks share one window, and a number of queries that was asked for is that number.
bool Measurement::window_may_grow() const {
  const std::string& rule = record_.stopping.name;
  return options_.bound && !tenant_place(order_.point) && order_.ranks == 1 && rule != "counts" && rule != "schedule";
}

void Measurement::steady() {
  StoppingSettings settings = record_.stopping;
  const double rate = offered_rate(order_.point);
  if (window_may_grow()) settings = grown_settings(settings, *options_.bound, rate);
  Nanoseconds duration = settings.name == "duration" ? settings.duration.value_or(never) : never;
  auto stopping = make_stopping(settings);
  if (options_.peak_search && options_.bound && duration != never)
    stopping = until_hopeless(std::move(stopping), *options_.bound, duration, rate);
  if (window_may_grow() && rate == 0) {
    const Nanoseconds most = longest_window(settings, *options_.bound, options_.peak_search, pause_between_queries(order_.point));
    stopping = until_decided(std::move(stopping), *options_.bound, most);
    if (duration != never) duration = most;
  }
  TimingLog log(pulse_);
  UrgentShare urgent(*target_, options_.dispatch.urgent, clock_);
  MarkMeter meter(options_.dispatch.urgent > 0 ? urgent : *target_);
  OfferedLoad offered;
  if (Dispatcher* dispatcher = instances_->dispatcher()) dispatcher->take_log();  // that of the warm-up
  if (end_to_end_) end_to_end_->take_log();
  observed_stage("steady", [&] { drive(meter, *stopping, log, duration, &offered); });
  if (stop_if_interrupted()) return;
  trim_steady_window(log);
  record_.estimates = meter.estimates();
  if (end_to_end_) keep_stage_log(end_to_end_->take_log(), record_);
  record_.estimates.merge(urgent.estimates());
  record_.estimates.merge(load_estimates(offered));
  record_.estimates.merge(log.estimates_of_all());
  record_.estimates["throughput"] = stopping->throughput();
  LoadVerdict load = judge_load(offered, options_.bound, log.summarize(options_.bound));
  if (const std::string shed = keep_dispatch(); !shed.empty() && load.verdict != Verdict::invalid) load = {Verdict::invalid, shed};
  record_.timings_dropped = log.dropped();
  record_.timings = log.take();
  record_.device_memory = instances_->memory();
  judge(*stopping, load);
}

// Why what was shed makes the result invalid; empty: it does not.
std::string Measurement::keep_dispatch() {
  Dispatcher* dispatcher = instances_->dispatcher();
  if (dispatcher == nullptr) return {};
  const DispatcherLog log = dispatcher->take_log();
  keep_dispatcher_log(log, record_);
  own_series_.push_back(queue_depth_series(log));
  return why_shed(log, options_.dispatch);
}

void Measurement::judge(const Stopping& stopping, const LoadVerdict& load) {
  const bool exhausted = stopping.state() == Stopping::State::exhausted;
  record_.verdict = exhausted ? Verdict::unstable : Verdict::valid;
  if (exhausted) record_.reason = stopping.reason();
  record_.facts["stopping"] = stopping.state() != Stopping::State::more
                                  ? stopping.reason()
                                  : fmt::format("the schedule ended after {} queries", stopping.throughput().n);
  if (load.verdict == Verdict::valid) return;
  record_.verdict = load.verdict;
  record_.reason = load.reason;
}

void Measurement::mlperf() {
  MarkMeter meter(*target_);
  std::optional<Window> measured;
  if (Dispatcher* dispatcher = instances_->dispatcher()) dispatcher->take_log();  // that of the warm-up
  observed_stage("steady", [&] { measured = run_mlperf(order_, *inputs_.dataset, meter, clock_, pulse_, interrupted_, record_); });
  if (stop_if_interrupted()) return;
  if (measured) record_.windows.back() = *measured;
  record_.estimates.merge(meter.estimates());
  keep_dispatch();
  record_.device_memory = instances_->memory();
}

// After everything that is measured: an engine may have to compile once more to tell.
void Measurement::note_precisions() {
  if (record_.outcome != Outcome::ok) return;
  try {
    for (const auto& [precision, share] : instances_->all().front().session->precision_shares()) record_.facts["macs." + precision] = share;
  } catch (const Error& error) {
    record_.facts["macs"] = fmt::format("not available: {}", error.what());
  }
  pulse_.beat();
}

// Exactly from the first query's begin to the last one's end: what the scenario does before and after is not measured.
void Measurement::trim_steady_window(const TimingLog& log) {
  if (log.count() == 0) return;
  record_.windows.back().begin = log.begin();
  record_.windows.back().end = log.end();
}

Record Measurement::finish() {
  pulse_.enter("finish");
  end_to_end_.reset();
  instances_.reset();
  if (!record_.host_memory_peak_bytes) record_.host_memory_peak_bytes = host_memory_peak_bytes();
  record_.environment = group_.environment();
  record_.series = group_.telemetry(order_).series(begin_, clock_.now());
  if (energy_is_read_ && group_.idle_window() && group_.idle_window()->end < begin_) {
    prepend_idle_readings(group_.telemetry(order_), *group_.idle_window(), record_.series);
  }
  record_.series.insert(record_.series.end(), own_series_.begin(), own_series_.end());
  for (const auto& [name, fact] : group_.telemetry(order_).availability()) record_.facts[name] = fact;
  std::erase_if(record_.windows, [](const Window& window) { return window.end == 0; });  // where it broke off
  return std::move(record_);
}

}  // namespace

std::optional<Record> measure(const WorkOrder& order, Group& group, Pulse& pulse, const Barrier& barrier,
                              const std::atomic<bool>& interrupted) {
  Measurement measurement(order, group, pulse, barrier, interrupted);
  try {
    if (!measurement.run()) return std::nullopt;
  } catch (const Error& error) {
    measurement.fail(outcome_of(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    measurement.fail(Outcome::out_of_memory, "memory does not suffice");
  } catch (const std::exception& error) {
    measurement.fail(Outcome::crashed, error.what());
  }
  return measurement.finish();
}

}  // namespace deepgap
