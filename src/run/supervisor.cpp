#include "run/supervisor.h"

#include "analysis/metric.h"
#include "base/text.h"
#include "record/duel_set.h"
#include "record/point_option.h"
#include "record/record_json.h"
#include "record/tenant_set.h"
#include "record/timing_block.h"
#include "run/join_ranks.h"
#include "run/memory_kills.h"
#include "run/tenant_windows.h"
#include "worker/run_rules.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <utility>
#include <vector>

namespace deepgap {
namespace {

// Time between the order to begin and the beginning: every rank has read it by then.
constexpr std::chrono::nanoseconds barrier_margin = std::chrono::milliseconds(20);

// The devices that one of several processes drives. One device is shared by all, and so are its threads.
Point point_of_rank(const Point& point, int rank) {
  Point own = point;
  const auto count = static_cast<int>(point.placement.devices.size());
  const int processes = point.placement.processes;
  own.placement.processes = 1;
  if (count == 1) {
    if (point.placement.devices.front().kind == "cpu") own.threads = std::max(1, point.threads / processes);
    return own;
  }
  const auto each = static_cast<std::ptrdiff_t>(count / processes);
  own.placement.devices.assign(point.placement.devices.begin() + rank * each, point.placement.devices.begin() + (rank + 1) * each);
  return own;
}

// A tenant that shares the CPUs may use all of them; one that has a part of them has that part of the threads, as ranks do.
WorkOrder order_of_tenant(WorkOrder order) {
  const TenantPlace place = *tenant_place(order.point);
  order.ranks = place.count;
  order.rank = place.number - 1;
  if (splits_cpus(order.point)) order.point.threads = std::max(1, order.point.threads / place.count);
  return order;
}

std::string tenant_text(const Point& point) { return fmt::format("tenant {} ({})", option_of(point, "tenant"), tenant_name(point)); }

// Time that a worker may take to end a query after Ctrl-C, before it is killed.
constexpr auto grace = std::chrono::seconds(3);

Record decode_record(const Frame& frame) {
  Record record = record_from_json(frame.header.at("record"));
  if (frame.blocks.size() != 2) throw Error(ErrorKind::input, "a record came without its blocks");
  record.timings = decode_timings(frame.blocks[0]);
  record.series = decode_series(frame.blocks[1]);
  return record;
}

// The system had no process, memory or descriptor for a worker, which says nothing about the Point: --resume measures it.
struct NotStarted : Error {
  using Error::Error;
};

std::string phase_text(const std::string& phase) { return phase.empty() ? "before it began" : fmt::format("in phase {}", phase); }

}  // namespace

bool spoils_worker(Outcome outcome) {
  return outcome == Outcome::crashed || outcome == Outcome::out_of_memory || outcome == Outcome::device_lost ||
         outcome == Outcome::timed_out || outcome == Outcome::interrupted;
}

Supervisor::Supervisor(SupervisorSettings settings, WorkerHost& host, Progress progress, std::function<void(const Job&, Record&)> fill)
    : settings_(std::move(settings)), host_(host), wait_settings_{host, settings_.timeout, std::move(progress)}, fill_(std::move(fill)) {}

void Supervisor::serve(const Batch& batch, const Receiver& receive) {
  const bool duel = !batch.jobs.empty() && contender_place(batch.jobs.front().point);
  if (batch.jobs.size() > 1 && batch.jobs.front().interleave) return serve_interleaved(batch, receive);
  if (duel || (!batch.jobs.empty() && tenant_place(batch.jobs.front().point))) {
    std::vector<Record> records = duel ? run_duel(batch.jobs) : run_tenants(batch.jobs);
    for (size_t i = 0; i < records.size(); ++i) receive(batch.jobs[i], std::move(records[i]));
    return;
  }
  std::optional<Worker> worker = std::exchange(kept_, {});  // serves all Jobs as long as it is sound
  if (!batch.keeps_worker || kept_group_ != batch.group) worker.reset();
  for (const Job& job : batch.jobs) {
    if (host_.interrupts() > 0) break;
    Record record = run(job, worker);
    if (spoils_worker(record.outcome) || (worker && worker->link->ended())) worker.reset();
    receive(job, std::move(record));
  }
  if (!batch.keeps_worker) return;
  kept_ = std::move(worker);
  kept_group_ = batch.group;
}

// "server-v6.0-performance-1a2b3c4d-1"
std::string Supervisor::log_folder(const Job& job) const {
  const RunRules* rules = rules_of(job.point);
  if (settings_.log_dir.empty() || rules == nullptr || !settings_.log_dir_each) return settings_.log_dir;
  return fmt::format("{}/{}-{}-{}-{}", settings_.log_dir, job.point.scenario, rules->log_name(job.point), job.point_id.substr(0, 8),
                     job.repeat + 1);
}

// "digits-1a2b3c4d-1.safetensors"
std::string Supervisor::weights_file(const Job& job) const {
  if (settings_.save_weights.empty() || !settings_.save_weights_each) return settings_.save_weights;
  const std::filesystem::path file(settings_.save_weights);
  const std::string name =
      fmt::format("{}-{}-{}{}", file.stem().string(), job.point_id.substr(0, 8), job.repeat + 1, file.extension().string());
  return (file.parent_path() / name).string();
}

WorkOrder Supervisor::order_for(const Job& job) const {
  WorkOrder order{job.point,       job.repeat,          job.sweep,       job.stopping,        job.check, settings_.run_id,
                  settings_.study, settings_.cache_dir, log_folder(job), settings_.log_trace, {}};
  order.save_weights = weights_file(job);
  order.keep_cut_window = settings_.keep_cut_windows;
  const auto found = unavailable_.find(reference_subject(job.point));
  if (found != unavailable_.end()) order.reference_unavailable = found->second;
  return order;
}

Worker Supervisor::start(const Job& job, WorkOrder order) {
  Worker worker{&job, std::move(order), nullptr, "", memory_kills().count};
  try {
    worker.link = host_.start(job.point);
  } catch (const Error& error) {
    throw NotStarted(ErrorKind::internal, fmt::format("{}; --resume measures it again", error.what()));
  }
  return worker;
}

Record Supervisor::run(const Job& job, std::optional<Worker>& worker) {
  const WorkOrder order = order_for(job);
  try {
    return job.point.placement.processes > 1 ? run_ranks(job, order) : run_alone(job, worker);
  } catch (const NotStarted& error) {
    return failure(job, order, Outcome::interrupted, error.what());
  } catch (const std::exception& error) {  // a record that is none
    Record record = failure(job, order, Outcome::crashed, error.what());
    worker.reset();
    return record;
  }
}

Record Supervisor::run_alone(const Job& job, std::optional<Worker>& worker) {
  if (!worker) worker = start(job, {});
  worker->job = &job;
  worker->order = order_for(job);
  worker->reference_asked = false;
  Answer answer = ask(*worker, "run");
  while (answer.is("needs_reference") && worker->order.reference_unavailable.empty()) {
    provide_reference(*worker);
    if (host_.interrupts() > 0) return failure(job, worker->order, Outcome::interrupted, host_.interrupt_words(), worker->link.get());
    answer = ask(*worker, "run");
  }
  if (answer.kind == Answer::Kind::interrupted) answer = ask_for_end(*worker);
  return record_from(*worker, answer);
}

Answer Supervisor::ask(Worker& worker, const char* kind) {
  send_order(worker, kind);
  return hear_one(wait_settings_, worker);
}

// Runs all ranks; the outcome of one rank is that of the Job.
Record Supervisor::run_ranks(const Job& job, WorkOrder order) {
  order.ranks = job.point.placement.processes;
  WorkerSet ranks(wait_settings_);
  for (int i = 0; i < order.ranks; ++i) {
    order.rank = i;
    order.point = point_of_rank(job.point, i);
    ranks.add(start(job, order));
  }
  Together together = run_together(ranks);
  if (!together.failed) {
    Record joined = join_ranks(job.point, std::move(together.records));
    recompute_metrics(joined);
    return joined;
  }
  Record record = std::move(together.records.front());
  record.reason =
      fmt::format("process {} of {} on {}: {}", *together.failed + 1, order.ranks, placement_name(record.point.placement), record.reason);
  record.point = job.point;
  return record;
}

// A Record each, in the order of `jobs`. What one measured beside another that failed is not what was asked for, so it is not kept.
std::vector<Record> Supervisor::run_tenants(const std::vector<Job>& jobs) {
  WorkerSet tenants(wait_settings_);
  Together together;
  try {
    for (const Job& job : jobs) tenants.add(start(job, order_of_tenant(order_for(job))));
    together = run_together(tenants);
  } catch (const NotStarted& error) {
    together.records = {failure(jobs.front(), order_for(jobs.front()), Outcome::interrupted, error.what())};
    together.failed = 0;
  } catch (const std::exception& error) {  // bytes that are no frame, a record that is none
    together.records = {failure(jobs.front(), order_for(jobs.front()), Outcome::crashed, error.what())};
    together.failed = 0;
  }
  if (together.failed) {
    const Record failed = std::move(together.records.front());
    const Outcome outcome = failed.outcome == Outcome::interrupted ? Outcome::interrupted : Outcome::refused;
    const std::string reason =
        outcome == Outcome::interrupted
            ? failed.reason
            : fmt::format("{} beside it: {}: {}", tenant_text(jobs[*together.failed].point), name_of(failed.outcome), failed.reason);
    together.records.clear();
    for (size_t i = 0; i < jobs.size(); ++i)
      together.records.push_back(i == *together.failed ? failed : failure(jobs[i], order_for(jobs[i]), outcome, reason));
    for (size_t i = 0; i < jobs.size(); ++i) {
      if (i != *together.failed && outcome == Outcome::refused) note_refusal(together.records[i], "tenant", "beside it");
    }
  } else {
    note_common_window(together.records);
  }
  for (size_t i = 0; i < jobs.size(); ++i) {
    together.records[i].point = jobs[i].point;
    together.records[i].tenant = option_of(jobs[i].point, "tenant");
  }
  return together.records;
}

// All meet as often as they exchange something, and once to learn when to begin. nullopt: they do; else who does not, and what came.
std::optional<Heard> Supervisor::let_all_begin(WorkerSet& workers) {
  const auto needs_reference = [&](size_t place, const Frame& frame) { return answer_other(workers, place, frame); };
  bool begun = false;
  const auto begin_at = [&] {
    begun = true;
    return host_.now() + barrier_margin.count();
  };
  while (!begun) {
    const auto agree = [&](const WorkerSet::Payloads& said) { return answer_meeting(said, begin_at); };
    if (auto failed = workers.meet(agree, needs_reference)) return failed;
  }
  return std::nullopt;
}

// Every worker says that it is ready, the supervisor says when to begin, and every worker answers with its Record.
Supervisor::Together Supervisor::run_together(WorkerSet& workers) {
  for (size_t i = 0; i < workers.size(); ++i) send_order(workers.at(i), "run");
  std::vector<Record> records(workers.size());
  auto failed = let_all_begin(workers);
  if (!failed) {
    failed = workers.collect([&](size_t place, const Frame& frame) {
      if (frame.header.value("kind", "") != "record") return false;
      records[place] = decode_record(frame);
      return records[place].outcome == Outcome::ok;
    });
  }
  if (!failed) return {std::move(records), std::nullopt};
  if (failed->answer.is("needs_reference") && host_.interrupts() > 0) failed->answer = {Answer::Kind::interrupted, {}, {}};
  return {{record_from(workers.at(failed->worker), failed->answer)}, failed->worker};  // the other workers end with the set
}

// Makes the reference once. An engine is not to blame if it cannot be read again: it is measured, and not checked.
void Supervisor::provide_reference(Worker& worker) {
  std::string& unavailable = worker.order.reference_unavailable;
  if (worker.reference_asked) {
    unavailable = unavailable_[reference_subject(worker.job->point)] = "it was made but could not be read again";
  } else {
    worker.reference_asked = true;
    unavailable = make_reference(*worker.job, worker.order);
  }
}

// Makes the reference that a worker of a set needs first, and asks the worker to begin anew.
bool Supervisor::answer_other(WorkerSet& workers, size_t place, const Frame& frame) {
  Worker& worker = workers.at(place);
  if (frame.header.value("kind", "") != "needs_reference" || !worker.order.reference_unavailable.empty()) return false;
  provide_reference(worker);
  if (host_.interrupts() > 0) return false;
  send_order(worker, "run");
  return true;
}

// SIGTERM, and the Record of what was under way if it comes soon.
Answer Supervisor::ask_for_end(Worker& worker) {
  worker.link->send_signal(SIGTERM);
  return await_end(worker, "record");
}

// Waits, after an interrupt, for a frame of that kind; if it does not come soon or somebody interrupts again, kills the worker.
Answer Supervisor::await_end(Worker& worker, const char* kind) {
  const Nanoseconds until = host_.now() + std::chrono::nanoseconds(grace).count();
  std::string why = " twice";
  while (host_.interrupts() < 2) {
    Answer answer = hear_one(wait_settings_, worker, until);
    if (answer.is(kind)) return answer;
    if (answer.kind == Answer::Kind::interrupted) continue;
    why = answer.kind == Answer::Kind::silent ? "; its worker did not end within 3 s and was killed" : "";
    break;
  }
  worker.link->send_signal(SIGKILL);
  return {Answer::Kind::interrupted, {}, why};
}

std::string Supervisor::make_reference(const Job& job, const WorkOrder& order) {
  Worker worker = start(job, order);
  const Answer answer = ask(worker, "reference");
  std::string unavailable;
  switch (answer.kind) {
    case Answer::Kind::frame:
      unavailable = answer.frame.header.value("unavailable", "");
      if (answer.frame.header.value("wrong_input", false)) wrong_inputs_.insert(reference_subject(job.point));
      break;
    case Answer::Kind::silent:
      unavailable = fmt::format("making it showed no progress for {}", format_duration(settings_.timeout.count()));
      break;
    case Answer::Kind::died:
      unavailable = fmt::format("the worker that made it ended: {}", worker.link->exit_state().describe());
      break;
    case Answer::Kind::broken:
      unavailable = fmt::format("the worker that made it sent an invalid message: {}", answer.defect);
      break;
    case Answer::Kind::interrupted:  // a reference half made is worth nothing
      return "interrupted";
  }
  if (!unavailable.empty()) unavailable_[reference_subject(job.point)] = unavailable;
  return unavailable;
}

Record Supervisor::record_from(Worker& worker, const Answer& answer) {
  const Job& job = *worker.job;
  switch (answer.kind) {
    case Answer::Kind::silent:
      worker.link->send_signal(SIGKILL);
      worker.link->exit_state();
      return failure(job, worker.order, Outcome::timed_out,
                     fmt::format("no progress for {} {}", format_duration(settings_.timeout.count()), phase_text(worker.phase)),
                     worker.link.get());
    case Answer::Kind::died:
      return death(worker);
    case Answer::Kind::broken:
      return failure(job, worker.order, Outcome::crashed, answer.defect, worker.link.get());
    case Answer::Kind::interrupted:
      return failure(job, worker.order, Outcome::interrupted, host_.interrupt_words() + answer.defect, worker.link.get());
    case Answer::Kind::frame:
      break;
  }
  if (answer.is("needs_reference"))
    return failure(job, worker.order, Outcome::crashed, "the reference was made but could not be read again", worker.link.get());
  Record record = decode_record(answer.frame);
  if (record.outcome == Outcome::interrupted)
    record.reason = host_.interrupts() > 0 ? host_.interrupt_words() : "its worker was ended by a signal from elsewhere";
  if (record.outcome != Outcome::ok) record.stderr_tail = worker.link->output_tail();
  return record;
}

Record Supervisor::death(Worker& worker) {
  const ExitState state = worker.link->exit_state();
  const MemoryKills kills = memory_kills();
  Outcome outcome = Outcome::crashed;
  std::string reason = fmt::format("the worker ended {}: {}", phase_text(worker.phase), state.describe());
  if (state.signal == SIGKILL && worker.out_of_memory_kills >= 0 && kills.count > worker.out_of_memory_kills) {
    outcome = Outcome::out_of_memory;
    reason += fmt::format("; {} counts an out-of-memory kill since it began", kills.source);
  } else if (wrong_inputs_.contains(reference_subject(worker.job->point))) {
    outcome = Outcome::refused;
    reason = fmt::format("{}; {}", worker.order.reference_unavailable, reason);
  }
  return failure(*worker.job, worker.order, outcome, reason, worker.link.get());
}

Record Supervisor::failure(const Job& job, const WorkOrder& order, Outcome outcome, const std::string& reason, WorkerLink* link) {
  Record record = begin_record(order);
  fail_record(record, outcome, reason);
  fill_(job, record);
  if (link != nullptr) record.stderr_tail = link->output_tail();
  return record;
}

}  // namespace deepgap
