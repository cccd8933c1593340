#include "run/run_study.h"

#include "analysis/point_verdict.h"
#include "base/file.h"
#include "base/hash.h"
#include "record/load_axis.h"
#include "record/point_option.h"
#include "record/record_json.h"
#include "run/child_process.h"
#include "run/finished_records.h"
#include "run/first_look.h"
#include "run/hold_devices.h"
#include "run/inspected_plan.h"
#include "run/interleave.h"
#include "run/past_searches.h"
#include "run/record_sink.h"
#include "run/run_planner.h"
#include "run/supervisor.h"
#include "run/time_estimate.h"
#include "worker/point_options.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace deepgap {
namespace {

// The loop of one run: it asks its planner for Jobs, has them done, and gives the Records to the sink.
class Run {
 public:
  Run(const Study& study, const RunSettings& settings, const Inspector& inspect, WorkerHost* host)
      : inspect_(inspect),
        host_(host == nullptr ? processes_ : *host),
        progress_(settings.progress, ::isatty(::fileno(settings.progress)) == 1, settings.words),
        run_{study, settings, progress_} {
    run_.report.run_id = random_id();
  }

  RunReport execute() {
    make_directories(run_.settings.cache_dir);
    run_.plan = inspect_plan(run_.study, run_.settings, inspect_, interrupts_, progress_);
    processes_.keep(std::move(run_.plan.child));
    run_.report.jobs = run_.plan.jobs.size();
    run_.report.repeated = std::any_of(run_.plan.jobs.begin(), run_.plan.jobs.end(), [](const Job& job) { return job.repeat > 0; });
    run_.threads_differ = std::any_of(run_.plan.jobs.begin(), run_.plan.jobs.end(),
                                      [&](const Job& job) { return job.point.threads != run_.plan.jobs.front().point.threads; });
    run_.report.interrupted = run_.plan.interrupted;
    if (run_.report.interrupted) return std::move(run_.report);
    const Store& store = sink_.open();
    hold_the_devices();  // before the Store is read: who has them may be writing to it
    run_.report.interrupted = devices_.interrupted;
    if (run_.report.interrupted) return std::move(run_.report);
    run_.left.know(TimeEstimate({}, query_times(run_.plan)));
    if (run_.settings.resume) read_finished(store);
    try {
      measure_all();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::store) throw;
      run_.report.store_error = error.what();
    }
    progress_.clear();
    run_.report.points = sink_.summaries();
    judge_together(run_.report.failures, run_.report.points, run_.settings.strict);
    add_unstable_points();
    sort_as_planned(run_.report.points);
    run_.report.devices = std::move(devices_.locks);
    return std::move(run_.report);
  }

 private:
  void hold_the_devices() {
    std::set<DeviceId> devices;
    for (const Job& job : run_.plan.jobs) {
      if (run_.runs(job)) devices.insert(job.point.placement.devices.begin(), job.point.placement.devices.end());
    }
    progress_.clear();
    devices_ = hold_devices(devices, run_.settings.locks, run_.settings.store_path, host_, run_.settings.progress);
    sink_.shares(devices_.shared);
  }

  // With --strict, adds as a failure a Point whose repeats are each fine and differ by more than was asked of them together.
  void add_unstable_points() {
    if (!run_.settings.strict) return;
    const auto& failures = run_.report.failures;
    for (const PointSummary& point : run_.report.points) {
      const bool is_listed =
          std::any_of(failures.begin(), failures.end(), [&](const Failure& failure) { return failure.of_verdict == point.point_id; });
      if (!is_judged_by_interval(point) || point.verdict != Verdict::unstable || is_listed) continue;
      const std::string text = fmt::format("{}: {}", name_of(point.verdict), point.reason);
      run_.report.failures.push_back({run_.label(point.point), text, 0, point.point_id, text});
    }
  }

  // Measured in random order, shown in the Study's.
  void sort_as_planned(std::vector<PointSummary>& points) const {
    std::map<std::string, size_t> position;
    for (const Job& job : run_.plan.jobs) position.emplace(job.point_id, position.size());
    std::stable_sort(points.begin(), points.end(),
                     [&](const PointSummary& a, const PointSummary& b) { return position.at(a.point_id) < position.at(b.point_id); });
  }

  // Counts what the Store has of this Plan as done, with its outcome. A search asks for what it needs (known_run).
  void read_finished(const Store& store) {
    if (run_.searches())
      past_searches_ = read_past_searches(store, run_.settings.own_study ? run_.study.name : std::optional<std::string>());
    std::set<JobId> planned;
    for (const Job& job : run_.plan.jobs)
      if (!run_.searches() || !run_.runs(job)) planned.insert(id_of(job));
    const EarlierRecords earlier(store, run_.study, run_.settings, run_.plan, progress_);
    FinishedRecords found = earlier.finished(planned, [this](Record&& record) {
      sink_.count(record);
      if (run_.settings.auto_repeats) earlier_.before.push_back(std::move(record));
    });
    run_.report.done_before = found.jobs.size();
    if (!found.jobs.empty()) run_.left.know(TimeEstimate(std::move(found.seconds), query_times(run_.plan)));
    earlier_.finished = std::move(found.jobs);
  }

  void measure_all() {
    std::vector<Job> runnable;
    for (const Job& job : run_.plan.jobs) {
      if (!run_.runs(job)) continue;
      runnable.push_back(job);
      if (earlier_.finished.count(id_of(job)) == 0) run_.left.wait_for(job);
    }
    progress_.begin(run_.plan.jobs.size() - earlier_.finished.size());
    if (run_.report.done_before > 0) {
      progress_.note(saved_text(run_.report.done_before, run_.report.jobs, run_.settings.store_path) + " already");
    }
    if (!run_.settings.busy.empty() && earlier_.finished.size() < runnable.size())
      progress_.note("note: the machine is busy: " + run_.settings.busy);
    sink_.save_without_worker(earlier_.finished);
    Supervisor supervisor(
        supervisor_settings(), host_,
        [&](const Job& job, const std::string& worker_phase, uint64_t done) {
          const std::string units = done > 0 ? units_text(done, unit_of_work(job.point)) : "";
          progress_.under_way(phase(job) + run_.label(job), worker_phase, units, run_.time_left(&job));
        },
        [&](const Job& job, Record& record) { sink_.fill(job, record); });
    if (run_.settings.first_look) look_first(runnable, supervisor);
    earlier_.known = [this](const Job& job) { return known_run(job); };
    const auto planner = make_run_planner(run_, std::move(runnable), earlier_);
    serve(*planner, supervisor);
    run_.report.interrupted = host_.interrupts() > 0;
    run_.report.open_ended = run_.searches() || run_.settings.auto_repeats;
    if (run_.report.open_ended) run_.report.jobs = run_.report.saved + run_.report.done_before;
    PlannerResult found = planner->result();
    report_peaks(std::move(found.peaks));
    if (found.tuned) run_.report.tuned = std::move(*found.tuned);
  }

  SupervisorSettings supervisor_settings() {
    return {run_.settings.timeout,
            run_.report.run_id,
            run_.study.name,
            run_.settings.cache_dir,
            run_.settings.log_dir,
            run_.plan.jobs.size() > 1,
            run_.settings.log_trace,
            run_.settings.save_weights,
            run_.plan.jobs.size() > 1,
            run_.study.seed,
            run_.settings.first_look.has_value(),
            [this](const std::string& line) { progress_.note(line); }};
  }

  // One Batch after the other, as the planner hands them out, until it has none or somebody interrupts.
  void serve(Planner& planner, Supervisor& supervisor) {
    run_.left.begin();
    while (host_.interrupts() == 0) {
      const Batch batch = planner.next();
      if (batch.jobs.empty()) break;
      auto begin = std::chrono::steady_clock::now();
      std::map<std::string, size_t> set_sizes;  // sets of interleaved engines, whose Records come all at once
      for (const Job& job : batch.jobs) set_sizes[job.interleave ? interleave_key(job) : ""] += 1;
      size_t left_in_set = 0;
      double each_s = 0;
      supervisor.serve(batch, [&](const Job& job, Record&& record) {
        const auto now = std::chrono::steady_clock::now();
        const double passed_s = std::chrono::duration<double>(now - begin).count();
        if (left_in_set == 0) {
          left_in_set = job.interleave ? set_sizes.at(interleave_key(job)) : 1;
          each_s = passed_s / static_cast<double>(left_in_set);
        }
        --left_in_set;
        run_.left.took(job, each_s, record.outcome != Outcome::ok);
        begin = now;
        if (is_in_virtual_time(job.point)) run_.virtual_ahead_s += seconds_of(record) - each_s;
        if (!job.peak_phase.empty()) record.facts["peak.role"] = job.peak_phase;
        planner.done(record);
        sink_.save(job, std::move(record));
      });
    }
  }

  // Windows of another length would belong to another search.
  std::optional<Record> known_run(const Job& job) {
    const auto found = past_searches_.find(id_of(job));
    if (found == past_searches_.end() || found->second.stopping != job.stopping ||
        is_of_another_device(found->second, run_.plan.environment))
      return std::nullopt;
    ++run_.report.done_before;
    sink_.count(found->second);
    return found->second;
  }

  void report_peaks(std::vector<FoundPeak> peaks) {
    run_.report.peaks = std::move(peaks);
    for (const FoundPeak& found : run_.report.peaks) {
      if (found.result.ending != PeakResult::Ending::confirmed)
        run_.report.failures.push_back({run_.label(found.point), peak_text(found, *run_.settings.peak), 0});
    }
  }

  // Returns the words before the label, whose end a narrow terminal cuts.
  std::string phase(const Job& job) const {
    if (looking_) return "first look: ";
    return job.peak_phase.empty() ? "" : job.peak_phase + ": ";
  }

  void look_first(const std::vector<Job>& runnable, Supervisor& supervisor) {
    std::vector<Job> waiting;
    for (const Job& job : runnable)
      if (earlier_.finished.count(id_of(job)) == 0) waiting.push_back(job);
    const FirstLooks looks = first_looks(waiting, *run_.settings.first_look);
    if (looks.jobs.empty()) return;
    PointCollector seen;
    looking_ = true;
    take_first_looks(looks, run_.plan, run_.study.seed, *run_.settings.first_look, supervisor, interrupts_, run_.left.estimate(),
                     [&](const Record& record) { seen.add(record); });
    looking_ = false;
    progress_.clear();
    std::vector<PointSummary> points = seen.summaries();
    if (points.empty()) return;
    sort_as_planned(points);
    const std::string some = points.size() < looks.points ? fmt::format("{} of {} points, ", points.size(), looks.points) : "";
    progress_.note(
        fmt::format("provisional, {}from windows of {} and unchecked:\n{}measuring until each result is decided; Ctrl-C ends the run and "
                    "keeps what was measured",
                    some, format_duration(looks.window), summary_table(points, terminal_columns(run_.settings.progress))));
  }

  const Inspector& inspect_;
  Interrupts interrupts_;
  ProcessHost processes_{interrupts_};
  WorkerHost& host_;
  Progress progress_;
  RunContext run_;
  RecordSink sink_{run_};
  HeldDevices devices_;
  bool looking_ = false;  // for the first time
  EarlierWork earlier_;
  PastSearches past_searches_;
};

}  // namespace

RunReport run_study(const Study& study, const RunSettings& settings) { return run_study_with(study, settings, inspect_in_child, nullptr); }

RunReport run_study_with(const Study& study, const RunSettings& settings, const Inspector& inspect, WorkerHost* host) {
  return Run(study, settings, inspect, host).execute();
}

}  // namespace deepgap
