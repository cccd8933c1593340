#include "run/supervisor.h"

#include "analysis/metric.h"
#include "base/text.h"
#include "record/point_option.h"
#include "record/record_json.h"
#include "record/tenant_set.h"
#include "record/timing_block.h"
#include "run/join_ranks.h"
#include "run/memory_kills.h"
#include "run/tenant_windows.h"
#include "worker/point_options.h"
#include "worker/worker_main.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace deepgap {
namespace {

// Between the word to begin and the beginning: every rank has read it by then.
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

// How long a worker may take to end a query after Ctrl-C, before it is killed.
constexpr auto grace = std::chrono::seconds(3);

Record decode_record(const Frame& frame) {
  Record record = record_from_json(frame.header.at("record"));
  if (frame.blocks.size() != 2) throw Error(ErrorKind::input, "a record came without its blocks");
  record.timings = decode_timings(frame.blocks[0]);
  record.series = decode_series(frame.blocks[1]);
  return record;
}

void send_order(ChildProcess& worker, const char* kind, const WorkOrder& order) {
  worker.send({{{"kind", kind}, {"order", order_to_json(order)}}, {}});
}

// The system had no process, memory or descriptor for a worker, which tells nothing of the Point: --resume measures it.
struct NotStarted : Error {
  using Error::Error;
};

std::unique_ptr<ChildProcess> start_worker(const Point& point) {
  try {
    return std::make_unique<ChildProcess>(worker_command, worker_environment(point));
  } catch (const Error& error) {
    throw NotStarted(ErrorKind::internal, fmt::format("{}; --resume measures it again", error.what()));
  }
}

// After these the process may be in any state: the next Job gets a fresh one.
bool spoils_worker(Outcome outcome) {
  return outcome == Outcome::crashed || outcome == Outcome::out_of_memory || outcome == Outcome::device_lost ||
         outcome == Outcome::interrupted;
}

std::string stage_text(const std::string& stage) { return stage.empty() ? "before it began" : fmt::format("in stage {}", stage); }

// What decides whether a reference, and the QDQ form of the model, can be made at all.
std::string reference_subject(const Point& point) {
  std::string key = fmt::format("{}|{}|{}|{}|{}", point.model, point.model_hash, point.weights, point.dataset, point.backend);
  if (point.precision == "int8") key += "|int8";  // its model may have to be quantized
  for (const auto& [name, value] : point.options) {
    if (name == "seed" || name == "shape" || name == "samples" || name.starts_with("quantize.")) key += fmt::format("|{}={}", name, value);
  }
  return key;
}

}  // namespace

Supervisor::Supervisor(SupervisorSettings settings, Interrupts& interrupts, Progress progress,
                       std::function<void(const Job&, Record&)> fill)
    : settings_(std::move(settings)), interrupts_(interrupts), progress_(std::move(progress)), fill_(std::move(fill)) {}

void Supervisor::serve(const Batch& batch, const Receiver& receive) {
  worker_.reset();
  try {
    if (!batch.jobs.empty() && tenant_place(batch.jobs.front().point)) {
      std::vector<Record> records = run_tenants(batch.jobs);
      for (size_t i = 0; i < records.size(); ++i) receive(batch.jobs[i], std::move(records[i]));
      return;
    }
    for (const Job& job : batch.jobs) {
      if (interrupts_.count() > 0) break;
      Record record = run(job);
      if (spoils_worker(record.outcome)) worker_.reset();
      receive(job, std::move(record));
    }
  } catch (...) {
    worker_.reset();
    throw;
  }
  worker_.reset();
}

// "server-v6.0-performance-1a2b3c4d-1"
std::string Supervisor::log_folder(const Job& job) const {
  const std::string round = option_of(job.point, "mlperf"), test = option_of(job.point, "mlperf_test", "none");
  if (settings_.mlperf_log.empty() || round.empty() || !settings_.mlperf_log_each) return settings_.mlperf_log;
  const std::string what = test != "none" ? test : option_of(job.point, "mlperf_mode", "performance");
  return fmt::format("{}/{}-{}-{}-{}-{}", settings_.mlperf_log, job.point.scenario, round, what, job.point_id.substr(0, 8), job.repeat + 1);
}

WorkOrder Supervisor::order_for(const Job& job) const {
  WorkOrder order{job.point,       job.repeat,          job.sweep,       job.stopping,           job.check, settings_.run_id,
                  settings_.study, settings_.cache_dir, log_folder(job), settings_.mlperf_trace, {}};
  const auto found = unavailable_.find(reference_subject(job.point));
  if (found != unavailable_.end()) order.reference_unavailable = found->second;
  return order;
}

bool Supervisor::is_frame(const Answer& answer, const char* kind) {
  return answer.kind == Answer::Kind::frame && answer.frame.header.value("kind", "") == kind;
}

Record Supervisor::run(const Job& job) {
  WorkOrder order = order_for(job);
  try {
    if (job.point.placement.processes > 1) return run_ranks(job, order);
    if (!worker_) {
      out_of_memory_kills_ = memory_kills().count;
      worker_ = start_worker(job.point);
    }
    Answer answer = ask(*worker_, "run", job, order);
    if (is_frame(answer, "needs_reference")) {
      order.reference_unavailable = make_reference(job, order);
      if (interrupts_.count() > 0) return failure(job, order, Outcome::interrupted, "interrupted by the user");
      answer = ask(*worker_, "run", job, order);
    }
    return record_from(job, order, answer);
  } catch (const NotStarted& error) {
    return failure(job, order, Outcome::interrupted, error.what());
  } catch (const std::exception& error) {  // bytes that are no frame, a record that is none
    worker_.reset();
    return failure(job, order, Outcome::crashed, error.what());
  }
}

Supervisor::Answer Supervisor::ask(ChildProcess& worker, const char* kind, const Job& job, const WorkOrder& order) {
  stage_.clear();
  send_order(worker, kind, order);
  return await(worker, job);
}

Supervisor::Answer Supervisor::await(ChildProcess& worker, const Job& job) {
  while (true) {
    Answer answer;
    switch (worker.wait(answer.frame, std::chrono::steady_clock::now() + settings_.timeout, &interrupts_)) {
      case ChildProcess::Event::interrupted:
        if (&worker == worker_.get()) return ask_for_end(worker);
        answer.kind = Answer::Kind::interrupted;  // a reference half made is worth nothing
        return answer;
      case ChildProcess::Event::silence:
        answer.kind = Answer::Kind::silent;
        return answer;
      case ChildProcess::Event::ended:
        answer.kind = Answer::Kind::died;
        return answer;
      case ChildProcess::Event::frame:
        break;
    }
    if (answer.frame.header.value("kind", "") != "heartbeat") return answer;
    stage_ = answer.frame.header.value("stage", "");
    progress_(job, stage_, answer.frame.header.value("done", uint64_t{0}));
  }
}

Supervisor::Rank Supervisor::start_rank(const Job& job, WorkOrder order) {
  Rank rank{&job, std::move(order), start_worker(job.point)};
  send_order(*rank.worker, "run", rank.order);
  return rank;
}

// What became of one rank is what became of the Job.
Record Supervisor::run_ranks(const Job& job, WorkOrder order) {
  out_of_memory_kills_ = memory_kills().count;
  order.ranks = job.point.placement.processes;
  std::vector<Rank> ranks;
  for (int i = 0; i < order.ranks; ++i) {
    order.rank = i;
    order.point = point_of_rank(job.point, i);
    ranks.push_back(start_rank(job, order));
  }
  Together together = run_together(ranks);
  if (!together.failed) {
    Record joined = join_ranks(job.point, std::move(together.records));
    recompute_metrics(joined);
    return joined;
  }
  Record record = std::move(together.records.front());
  record.reason = fmt::format("on {}: {}", placement_name(record.point.placement), record.reason);
  record.point = job.point;
  return record;
}

// A Record each, in the order of `jobs`. What one measured beside another that failed is not what was asked for, so it is not kept.
std::vector<Record> Supervisor::run_tenants(const std::vector<Job>& jobs) {
  out_of_memory_kills_ = memory_kills().count;
  std::vector<Rank> ranks;
  Together together;
  try {
    for (const Job& job : jobs) ranks.push_back(start_rank(job, order_of_tenant(order_for(job))));
    together = run_together(ranks);
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
  } else {
    note_common_window(together.records);
  }
  for (size_t i = 0; i < jobs.size(); ++i) {
    together.records[i].point = jobs[i].point;
    together.records[i].tenant = option_of(jobs[i].point, "tenant");
  }
  return together.records;
}

// Every rank says that it is ready, all are told when to begin, and every rank answers with its Record. They are waited for one after the
// other: what the others send meanwhile waits in their channels.
Supervisor::Together Supervisor::run_together(std::vector<Rank>& ranks) {
  worker_.reset();
  stage_.clear();
  for (size_t i = 0; i < ranks.size(); ++i) {
    const Answer answer = await_barrier(ranks[i]);
    if (!is_frame(answer, "at_barrier")) return failure_of(ranks, i, answer);
  }
  const int64_t begin = (std::chrono::steady_clock::now().time_since_epoch() + barrier_margin).count();
  for (Rank& rank : ranks) rank.worker->send({{{"kind", "begin"}, {"begin", begin}}, {}});
  Together together;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const Answer answer = await(*ranks[i].worker, *ranks[i].job);
    if (is_frame(answer, "record")) together.records.push_back(decode_record(answer.frame));
    if (!is_frame(answer, "record") || together.records.back().outcome != Outcome::ok) return failure_of(ranks, i, answer);
  }
  return together;
}

Supervisor::Answer Supervisor::await_barrier(Rank& rank) {
  Answer answer = await(*rank.worker, *rank.job);
  if (!is_frame(answer, "needs_reference")) return answer;
  rank.order.reference_unavailable = make_reference(*rank.job, rank.order);
  return ask(*rank.worker, "run", *rank.job, rank.order);
}

// The other workers end with their objects.
Supervisor::Together Supervisor::failure_of(std::vector<Rank>& ranks, size_t failed, const Answer& answer) {
  worker_ = std::move(ranks[failed].worker);
  Together together{{record_from(*ranks[failed].job, ranks[failed].order, answer)}, failed};
  worker_.reset();
  ranks.clear();
  return together;
}

Supervisor::Answer Supervisor::ask_for_end(ChildProcess& worker) {
  worker.process().send_signal(SIGTERM);
  const auto deadline = std::chrono::steady_clock::now() + grace;
  Answer answer;
  answer.kind = Answer::Kind::interrupted;
  answer.killed = " twice";
  while (interrupts_.count() < 2) {
    const auto event = worker.wait(answer.frame, deadline, &interrupts_);
    if (event == ChildProcess::Event::frame && answer.frame.header.value("kind", "") == "record") {
      answer.kind = Answer::Kind::frame;
      return answer;
    }
    if (event == ChildProcess::Event::silence) answer.killed = "; its worker did not end within 3 s and was killed";
    if (event == ChildProcess::Event::ended) answer.killed = "";
    if (event == ChildProcess::Event::silence || event == ChildProcess::Event::ended) break;
  }
  worker.process().send_signal(SIGKILL);
  return answer;
}

std::string Supervisor::make_reference(const Job& job, const WorkOrder& order) {
  const auto worker = start_worker(job.point);
  const Answer answer = ask(*worker, "reference", job, order);
  std::string unavailable;
  switch (answer.kind) {
    case Answer::Kind::frame:
      unavailable = answer.frame.header.value("unavailable", "");
      break;
    case Answer::Kind::silent:
      unavailable = fmt::format("making it showed no progress for {}", format_duration(settings_.timeout.count()));
      break;
    case Answer::Kind::died:
      unavailable = fmt::format("the worker that made it ended: {}", worker->exit_state().describe());
      break;
    case Answer::Kind::interrupted:
      return "interrupted";
  }
  if (!unavailable.empty()) unavailable_[reference_subject(job.point)] = unavailable;
  return unavailable;
}

Record Supervisor::record_from(const Job& job, const WorkOrder& order, const Answer& answer) {
  switch (answer.kind) {
    case Answer::Kind::silent: {
      worker_->process().send_signal(SIGKILL);
      worker_->exit_state();
      Record record = failure(job, order, Outcome::timed_out,
                              fmt::format("no progress for {} {}", format_duration(settings_.timeout.count()), stage_text(stage_)));
      worker_.reset();
      return record;
    }
    case Answer::Kind::died:
      return death(job, order);
    case Answer::Kind::interrupted:
      worker_.reset();
      return failure(job, order, Outcome::interrupted, fmt::format("interrupted by the user{}", answer.killed));
    case Answer::Kind::frame:
      break;
  }
  if (answer.frame.header.value("kind", "") == "needs_reference") {
    return failure(job, order, Outcome::crashed, "the reference was made but could not be read again");
  }
  Record record = decode_record(answer.frame);
  if (record.outcome != Outcome::ok) {
    worker_->process().drain_output();
    record.stderr_tail = worker_->process().output_tail();
  }
  return record;
}

Record Supervisor::death(const Job& job, const WorkOrder& order) {
  const ExitState state = worker_->exit_state();
  const MemoryKills kills = memory_kills();
  Outcome outcome = Outcome::crashed;
  std::string reason = fmt::format("the worker ended {}: {}", stage_text(stage_), state.describe());
  if (state.signal == SIGKILL && out_of_memory_kills_ >= 0 && kills.count > out_of_memory_kills_) {
    outcome = Outcome::out_of_memory;
    reason += fmt::format("; {} counts an out-of-memory kill since it began", kills.source);
  }
  Record record = failure(job, order, outcome, reason);
  worker_.reset();
  return record;
}

Record Supervisor::failure(const Job& job, const WorkOrder& order, Outcome outcome, const std::string& reason) {
  Record record = begin_record(order);
  fail_record(record, outcome, reason);
  fill_(job, record);
  if (worker_) {
    worker_->process().drain_output();
    record.stderr_tail = worker_->process().output_tail();
  }
  return record;
}

}  // namespace deepgap
