#include "worker/measure.h"

#include "base/clocks.h"
#include "base/text.h"
#include "base/words.h"
#include "model/model_source.h"
#include "model/onnx_metadata.h"
#include "model/weights/safetensors.h"
#include "record/point_option.h"
#include "record/search_marks.h"
#include "record/task_traits.h"
#include "record/tenant_set.h"
#include "record/verdict.h"
#include "telemetry/environment.h"
#include "worker/accuracy.h"
#include "worker/classes.h"
#include "worker/energy_windows.h"
#include "worker/generate_verdict.h"
#include "worker/latency_modes.h"
#include "worker/loaded_order.h"
#include "worker/power_state.h"
#include "worker/preparation.h"
#include "worker/process_facts.h"
#include "worker/quantized_model.h"
#include "worker/session_counts.h"
#include "worker/task_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

namespace deepgap {
namespace {

void require_support(const Backend& backend, const WorkOrder& order, const Preparation& prepared, const GraphSummary& summary) {
  require(task_support(backend, order.point.task, summary));
  require(supports_everywhere(backend, order.point, engine_summary(order.point, prepared.computes, summary), prepared.options.dispatch,
                              engine_request(order.point, prepared.options)));
}

// Returns the samples answered for their accuracy: once a Point, as other repeats would answer the same, and not in the runs of a search.
int64_t labelled_samples(const WorkOrder& order, const Preparation& prepared, const Group::Inputs& inputs) {
  const bool once = order.repeat == 0 && order.sweep == 0 && order.rank == 0;
  if (!once || is_search_run(order.point) || !prepared.computes || prepared.driver->judges_accuracy()) return 0;
  if (!inputs.dataset->label(0) || !class_count(inputs.model->summary().outputs)) return 0;
  const auto all = static_cast<int64_t>(inputs.dataset->size());
  return std::min(all, prepared.options.accuracy_samples.value_or(all));
}

// An engine may have to compile once more to report this.
Facts precision_facts(Session& session) {
  Facts facts;
  try {
    for (const auto& [precision, share] : session.precision_shares()) facts["macs." + precision] = share;
  } catch (const Error& error) {
    facts["macs"] = fmt::format("not available: {}", error.what());
  }
  return facts;
}

// One order from load to Record: run() goes through the phases, each of which gives a value, and keeps what they gave.
class Measurement {
 public:
  Measurement(const WorkOrder& order, Group& group, Heartbeat& heartbeat, Turns& turns, const std::atomic<bool>& interrupted)
      : order_(order),
        group_(group),
        heartbeat_(heartbeat),
        turns_(turns),
        interrupted_(interrupted),
        clock_(group.clock(order)),
        record_(begin_record(order)) {}

  // False: a reference is needed first.
  bool run();
  Record finish();
  void fail(Outcome outcome, const std::string& reason);

 private:
  void begin();
  void idle();
  bool has_engine_model();
  Target* check(const Expected& expected);
  std::map<std::string, Estimate> accuracy(Target& target, int64_t samples);
  void wait_for_other_ranks();
  bool may_warm_longer(Nanoseconds warm_from) const;
  void take_window_as_warmup();
  void fill(const DriverContext& context);
  void judge_tokens();
  bool came_to_power_limit();
  bool stop_if_interrupted();
  void save_weights();

  void keep(const Backend& backend);
  void keep(const Group::Inputs& inputs);
  void note_zero_sizes();
  void keep(const Expected& found);
  void unchecked_because(const std::string& why);
  void keep(SessionsCheck found);
  void keep(const WarmedUp& warmed_up);
  void keep(Measured measured);
  void keep(const Facts& facts) {
    for (const auto& [name, fact] : facts) record_.facts[name] = fact;
  }

  // Runs `work` as a phase with its window.
  template <typename Work>
  void phase(const std::string& name, Work work) {
    heartbeat_.enter(name);
    at_ = name;
    record_.windows.push_back({name, clock_.now(), 0});
    const size_t index = record_.windows.size() - 1;
    work();
    record_.windows[index].end = clock_.now();
  }
  // ... with telemetry read at both edges: of the windows that telemetry is asked about. A reading of a GPU costs milliseconds.
  template <typename Work>
  void observed_phase(const std::string& name, Work work) {
    group_.telemetry(order_).edge();
    phase(name, work);
    group_.telemetry(order_).edge();
  }

  const WorkOrder& order_;
  Group& group_;
  Heartbeat& heartbeat_;
  Turns& turns_;
  const std::atomic<bool>& interrupted_;
  Clock& clock_;
  Record record_;                   // what is known so far
  std::string at_ = "preparation";  // the phase that is under way
  std::string why_unchecked_;       // where a check was asked for
  Nanoseconds begin_ = 0;
  bool energy_is_read_ = false;
  std::vector<Slice> slices_;       // those of an interleaved window
  std::vector<Series> own_series_;  // besides the probes'
  // the results of the phases; loaded_ goes first
  Preparation prepared_;
  Group::Inputs inputs_;
  const OrderContext context_{.order = order_,
                              .prepared = prepared_,
                              .inputs = inputs_,
                              .group = group_,
                              .clock = clock_,
                              .heartbeat = heartbeat_,
                              .turns = turns_,
                              .interrupted = interrupted_};
  std::optional<LoadedOrder> loaded_;
  SessionsCheck checked_;
  OutputSketch answers_;
};

bool Measurement::run() {
  begin();
  Backend& backend = group_.backend(order_);
  keep(backend);
  prepared_ = prepare(order_, backend);
  record_.stopping = prepared_.stopping;
  record_.facts["unit"] = prepared_.driver->unit();
  inputs_ = group_.inputs(order_, prepared_.options);
  keep(inputs_);
  at_ = "support";
  require_support(backend, order_, prepared_, inputs_.model->summary());
  at_ = "preparation";
  if (!has_engine_model()) return false;
  const Expected expected = expected_of(context_);
  if (expected.missing()) return false;
  keep(expected);
  idle();
  phase("load", [&] { loaded_.emplace(context_, backend); });
  record_.compile_s = loaded_->compile_s();
  record_.backend_version = backend.version();  // some settle on a part of it when they load
  keep(loaded_->facts());
  if (stop_if_interrupted()) return true;
  Target* target = check(expected);
  if (target == nullptr || stop_if_interrupted()) return true;
  std::map<std::string, Estimate> accuracy_found;
  if (const int64_t samples = labelled_samples(order_, prepared_, inputs_); samples > 0)
    phase("accuracy", [&] { accuracy_found = accuracy(*target, samples); });
  if (stop_if_interrupted()) return true;
  fill({order_, clock_, heartbeat_, interrupted_, *inputs_.dataset, inputs_.samples, *target, loaded_->instances().dispatcher(),
        loaded_->end_to_end(), &turns_, std::move(answers_), [this] { group_.telemetry(order_).edge(); }});
  record_.host_memory_peak_bytes = host_memory_peak_bytes();
  record_.estimates.merge(accuracy_found);
  if (record_.outcome != Outcome::ok) return true;
  save_weights();
  keep(precision_facts(*loaded_->instances().all().front().session));  // after everything that is measured
  heartbeat_.beat();
  if (record_.outcome == Outcome::ok) loaded_->keep(std::move(checked_));
  return true;
}

// A refusal before the engine is asked is deepgap's own.
void Measurement::fail(Outcome outcome, const std::string& reason) {
  fail_record(record_, outcome, reason);
  if (outcome == Outcome::refused) note_refusal(record_, at_ == "preparation" ? "deepgap" : order_.point.backend, at_);
}

void Measurement::begin() {
  reset_host_memory_peak();
  begin_ = clock_.now();
  record_.facts["clock.begin_ns"] = static_cast<int64_t>(begin_);  // at started_unix_ns
  heartbeat_.enter("load");
  // This comes before the plug-in pins the process: the probes' thread keeps off the measured CPUs, and the facts are the machine's.
  group_.telemetry(order_);
  group_.environment(order_);
}

// Waits once in a process, since later nothing is idle any more: the first order's window stands for the others if power is read.
void Measurement::idle() {
  energy_is_read_ = reads_energy(group_.telemetry(order_));
  if (group_.take_first_order()) {
    observed_phase("idle", [&] { clock_.wait_until(clock_.now() + idle_length(order_.stopping, energy_is_read_)); });
    group_.idle_window() = record_.windows.back();
  } else if (energy_is_read_ && group_.idle_window()) {
    record_.windows.push_back(*group_.idle_window());
  }
}

bool Measurement::has_engine_model() {
  if (inputs_.engine_model == nullptr) {
    if (order_.reference_unavailable.empty()) return false;
    throw Error(ErrorKind::refused, fmt::format("cannot be quantized: {}", order_.reference_unavailable));
  }
  keep(inputs_.quantize_facts);
  return true;
}

// Returns what is to be driven; nullptr: the results are wrong, or it was interrupted.
Target* Measurement::check(const Expected& expected) {
  Target* joined = nullptr;
  phase("check", [&] {
    const SessionsCheck* known = loaded_->known_check();
    checked_ = known != nullptr ? *known : task_work(order_.point).check(expected, *loaded_, context_);
    keep(checked_);
    if (record_.outcome == Outcome::ok && !stop_if_interrupted()) joined = &loaded_->join();
  });
  return joined;
}

std::map<std::string, Estimate> Measurement::accuracy(Target& target, int64_t samples) {
  AccuracySettings settings;
  settings.batch = order_.point.batch;
  settings.in_flight = std::min<int64_t>(static_cast<int64_t>(loaded_->instances().all().size()), target.limits().max_in_flight);
  settings.samples = samples;
  const AccuracyCount count = count_right_answers(
      target, clock_, *inputs_.dataset, settings, [this] { heartbeat_.beat(); }, interrupted_);
  target.load(inputs_.samples);  // they went with the others
  return count.estimates();
}

// Warm-up and the measured window.
void Measurement::fill(const DriverContext& context) {
  phase("warm_up", [&] {
    loaded_->instances().reset_peak();
    keep(prepared_.driver->warm_up(context));
  });
  take_session_counts(loaded_->instances());  // those of the warm-up
  wait_for_other_ranks();
  if (stop_if_interrupted()) return;
  const Nanoseconds warm_from = record_.windows.back().begin;
  observed_phase(prepared_.driver->window(), [&] { prepared_.driver->fill(context); });
  if (!interrupted_.load() && may_warm_longer(warm_from) && (prepared_.driver->was_warming() || came_to_power_limit())) {
    take_window_as_warmup();
    take_session_counts(loaded_->instances());
    observed_phase(prepared_.driver->window(), [&] { prepared_.driver->fill(context); });
  }
  const bool keeps_cut = order_.keep_cut_window && order_.ranks == 1 && prepared_.driver->can_be_cut();
  if (!keeps_cut && stop_if_interrupted()) return;
  SessionCounts counts = take_session_counts(loaded_->instances());
  keep(counts.facts);
  keep(prepared_.driver->measured(context));
  for (Series& series : take_session_series(loaded_->instances())) own_series_.push_back(std::move(series));
  judge_tokens();
  record_.estimates.merge(counts.estimates);
  record_.device_memory = loaded_->instances().memory();
}

void Measurement::judge_tokens() {
  if (!task_traits(order_.point.task).tokens) return;
  record_.series = std::move(own_series_);
  judge_generation(record_, prepared_.options, prepared_.options.peak_search ? BoundRule::nearest_rank : BoundRule::shown);
  own_series_ = std::exchange(record_.series, {});
}

// Ranks and tenants share one window; a number of queries that was asked for is that number.
bool Measurement::may_warm_longer(Nanoseconds warm_from) const {
  return order_.ranks == 1 && !tenant_place(order_.point) && !order_.stopping.warmup &&
         record_.windows.back().begin - warm_from < order_.stopping.warmup_budget;
}

// One that began too early: what it measured is forgotten.
void Measurement::take_window_as_warmup() {
  const Nanoseconds end = record_.windows.back().end;
  record_.windows.pop_back();
  record_.windows.back().end = end;
  record_.facts["warm_up.window"] =
      std::string("a window whose beginning was not yet steady was taken as warm-up, and another one measured");
}

void Measurement::wait_for_other_ranks() {
  if (order_.ranks == 1 || interrupted_.load()) return;
  heartbeat_.enter("barrier");
  const Nanoseconds begin = turns_.meet(nullptr).at("begin");
  while (clock_.now() < begin && !interrupted_.load()) clock_.wait_until(begin);
}

bool Measurement::stop_if_interrupted() {
  if (!interrupted_.load()) return false;
  fail(Outcome::interrupted, "interrupted");
  return true;
}

// Saves the weights as trained, after everything that is measured. Ranks have the same.
void Measurement::save_weights() {
  if (order_.save_weights.empty() || order_.rank != 0) return;
  const auto weights = loaded_->instances().all().front().session->trained_weights();
  if (weights.empty()) return;
  write_safetensors(order_.save_weights, weights, {{"model", order_.point.model}});
  record_.facts["train.weights"] = order_.save_weights;
}

void Measurement::keep(const Backend& backend) {
  record_.backend_version = backend.version();
  record_.facts["backend.plugin"] = group_.plugin_file().path;
  record_.facts["backend.plugin_hash"] = group_.plugin_file().hash;
}

void Measurement::keep(const Group::Inputs& inputs) {
  const GraphSummary& summary = inputs.model->summary();
  record_.load_s = inputs.load_s;
  record_.facts["load.shared"] = inputs.shared;
  record_.dataset_description = inputs.dataset->describe();
  record_.facts["dataset.samples"] = static_cast<int64_t>(inputs.samples.size());
  record_.facts["model.content_hash"] = summary.content_hash;
  note_zero_sizes();
  record_.parameters = summary.parameters;
  task_work(order_.point).note_work(record_, *inputs.model, prepared_.options);
}

// So that nobody wonders at a batch that the file has not.
void Measurement::note_zero_sizes() {
  if (is_remote(order_.point.placement) || task_traits(order_.point.task).tokens || !is_model_file(order_.point.model)) return;
  const std::vector<std::string> zeros = read_onnx_zero_sizes(order_.point.model);
  if (!zeros.empty()) record_.facts[zero_sizes_fact] = printable(fmt::format("{}: 0 in the file, read as open", join(zeros, ", ")));
}

void Measurement::keep(const Expected& found) {
  record_.unchecked = found.unchecked;
  if (!found.none.empty()) record_.facts["check"] = found.none;
  if (found.unchecked && order_.check) unchecked_because(found.none);
}

// Notes why nothing was checked, which the Record's reason ends with.
void Measurement::unchecked_because(const std::string& why) {
  why_unchecked_ = why;
  record_.reason = why;
}

void Measurement::keep(SessionsCheck found) {
  record_.first_result_ms = found.first_result_ms;
  record_.check = std::move(found.check);
  record_.unchecked |= found.unchecked;
  answers_ = std::move(found.answers);
  keep(found.facts);
  if (const auto why = found.facts.find("check"); found.unchecked && why != found.facts.end())
    unchecked_because(std::get<std::string>(why->second));
  if (!found.wrong.empty()) fail(Outcome::incorrect, found.wrong);
}

void Measurement::keep(const WarmedUp& warmed_up) {
  record_.warmup_queries = warmed_up.units;
  if (!warmed_up.reason.empty()) record_.facts["warm_up"] = warmed_up.reason;
}

void Measurement::keep(Measured measured) {
  if (measured.window) record_.windows.back() = *measured.window;
  record_.timings = std::move(measured.timings);
  record_.timings_dropped = measured.timings_dropped;
  if (std::string modes = latency_modes_text(record_.timings, is_in_virtual_time(order_.point)); !modes.empty())
    record_.facts[latency_modes_fact] = std::move(modes);
  record_.estimates = std::move(measured.estimates);
  record_.verdict = measured.verdict;
  if (!measured.reason.empty())
    record_.reason = why_unchecked_.empty() ? measured.reason : fmt::format("{}; unchecked: {}", measured.reason, why_unchecked_);
  keep(measured.facts);
  if (!measured.wrong.empty()) {
    fail(Outcome::incorrect, measured.wrong);
    record_.estimates.erase("throughput");  // wrong results have no throughput, whoever computes it
  }
  own_series_ = std::move(measured.series);
  slices_ = std::move(measured.slices);
}

// Returns whether the window that is over began before the sustained state that was asked for.
bool Measurement::came_to_power_limit() {
  if (prepared_.options.power != PowerAsked::sustained) return false;
  return power_state(group_.telemetry(order_).series(begin_, clock_.now()), record_.windows.back()).word == "burst";
}

Record Measurement::finish() {
  heartbeat_.enter("finish");
  loaded_.reset();
  if (!record_.host_memory_peak_bytes) record_.host_memory_peak_bytes = host_memory_peak_bytes();
  record_.environment = group_.environment(order_);
  record_.series = group_.telemetry(order_).series(begin_, clock_.now());
  if (energy_is_read_ && group_.idle_window() && group_.idle_window()->end < begin_) {
    prepend_idle_readings(group_.telemetry(order_), *group_.idle_window(), record_.series);
  }
  record_.series.insert(record_.series.end(), own_series_.begin(), own_series_.end());
  keep(group_.telemetry(order_).availability());
  note_power_state(prepared_.options.power, record_);
  std::erase_if(record_.windows, [](const Window& window) { return window.end == 0; });  // where it broke off
  cut_to_slices(record_, slices_);
  return std::move(record_);
}

}  // namespace

std::optional<Record> measure(const WorkOrder& order, Group& group, Heartbeat& heartbeat, Turns& turns,
                              const std::atomic<bool>& interrupted) {
  Measurement measurement(order, group, heartbeat, turns, interrupted);
  try {
    if (!measurement.run()) return std::nullopt;
  } catch (const WaitsForEver&) {  // in real time the parent's timeout ends
    measurement.fail(Outcome::timed_out, "no answer ever comes, and in virtual time nothing else is waited for");
  } catch (const Error& error) {
    measurement.fail(outcome_of(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    measurement.fail(Outcome::out_of_memory, "memory does not suffice");
  } catch (const std::exception& error) {
    measurement.fail(Outcome::crashed, one_line(error.what()));
  }
  return measurement.finish();
}

}  // namespace deepgap
