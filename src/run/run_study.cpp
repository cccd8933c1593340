#include "run/run_study.h"

#include "analysis/metric.h"
#include "analysis/point_verdict.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "plan/auto_repeats.h"
#include "record/duel_set.h"
#include "record/load_axis.h"
#include "record/point_option.h"
#include "record/record_json.h"
#include "record/search_marks.h"
#include "record/tenant_set.h"
#include "run/child_process.h"
#include "run/finished_records.h"
#include "run/first_look.h"
#include "run/hold_devices.h"
#include "run/inspected_plan.h"
#include "run/interleave.h"
#include "run/open_store.h"
#include "run/past_searches.h"
#include "run/progress.h"
#include "run/supervisor.h"
#include "run/time_estimate.h"
#include "run/time_left.h"
#include "worker/mlperf_run.h"
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

// Returns how many Records come together.
size_t set_size(const Point& point) {
  const auto tenant = tenant_place(point);
  const auto contender = contender_place(point);
  return static_cast<size_t>(tenant ? tenant->count : contender ? contender->count : 1);
}

// One run with everything it holds on to. Store and supervisor live in the main thread.
class Run {
 public:
  Run(const Study& study, const RunSettings& settings, const Inspector& inspect, WorkerHost* host)
      : study_(study),
        settings_(settings),
        inspect_(inspect),
        host_(host == nullptr ? processes_ : *host),
        progress_(settings.progress, ::isatty(::fileno(settings.progress)) == 1, settings.words) {
    report_.run_id = random_id();
  }

  RunReport execute() {
    make_directories(settings_.cache_dir);
    plan_ = inspect_plan(study_, settings_, inspect_, interrupts_, progress_);
    processes_.keep(std::move(plan_.child));
    report_.jobs = plan_.jobs.size();
    report_.repeated = std::any_of(plan_.jobs.begin(), plan_.jobs.end(), [](const Job& job) { return job.repeat > 0; });
    threads_differ_ = std::any_of(plan_.jobs.begin(), plan_.jobs.end(),
                                  [&](const Job& job) { return job.point.threads != plan_.jobs.front().point.threads; });
    report_.interrupted = plan_.interrupted;
    if (report_.interrupted) return std::move(report_);
    store_.emplace(settings_.store_path);
    hold_the_devices();  // before the Store is read: who has them may be writing to it
    report_.interrupted = devices_.interrupted;
    if (report_.interrupted) return std::move(report_);
    left_.know(TimeEstimate({}, query_times(plan_)));
    if (settings_.resume) read_finished();
    try {
      measure_all();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::store) throw;
      report_.store_error = error.what();
    }
    progress_.clear();
    report_.points = collector_.summaries();
    judge_together(report_.failures, report_.points, settings_.strict);
    add_unstable_points();
    sort_as_planned(report_.points);
    report_.devices = std::move(devices_.locks);
    return std::move(report_);
  }

 private:
  void hold_the_devices() {
    std::set<DeviceId> devices;
    for (const Job& job : plan_.jobs) {
      if (runs(job)) devices.insert(job.point.placement.devices.begin(), job.point.placement.devices.end());
    }
    progress_.clear();
    devices_ = hold_devices(devices, settings_.locks, settings_.store_path, host_, settings_.progress);
  }

  // With --strict, adds as a failure a Point whose repeats are each fine and differ by more than was asked of them together.
  void add_unstable_points() {
    if (!settings_.strict) return;
    const auto& failures = report_.failures;
    for (const PointSummary& point : report_.points) {
      const bool is_listed =
          std::any_of(failures.begin(), failures.end(), [&](const Failure& failure) { return failure.of_verdict == point.point_id; });
      if (!is_judged_by_interval(point) || point.verdict != Verdict::unstable || is_listed) continue;
      const std::string text = fmt::format("{}: {}", name_of(point.verdict), point.reason);
      report_.failures.push_back({point_label(point.point, threads_differ_), text, 0, point.point_id, text});
    }
  }

  // Measured in random order, shown in the Study's.
  void sort_as_planned(std::vector<PointSummary>& points) const {
    std::map<std::string, size_t> position;
    for (const Job& job : plan_.jobs) position.emplace(job.point_id, position.size());
    std::stable_sort(points.begin(), points.end(),
                     [&](const PointSummary& a, const PointSummary& b) { return position.at(a.point_id) < position.at(b.point_id); });
  }

  // Counts what the Store has of this Plan as done, with its outcome. A search asks for what it needs (known_run).
  void read_finished() {
    if (searches()) past_searches_ = read_past_searches(store_->store(), settings_.own_study ? study_.name : std::optional<std::string>());
    std::set<JobId> planned;
    for (const Job& job : plan_.jobs)
      if (!searches() || !runs(job)) planned.insert(id_of(job));
    const EarlierRecords earlier(store_->store(), study_, settings_, plan_, progress_);
    FinishedRecords found = earlier.finished(planned, [this](Record&& record) {
      count(record);
      if (settings_.auto_repeats) before_.push_back(std::move(record));
    });
    report_.done_before = found.jobs.size();
    if (!found.jobs.empty()) left_.know(TimeEstimate(std::move(found.seconds), query_times(plan_)));
    finished_ = std::move(found.jobs);
  }

  void measure_all() {
    std::vector<Job> runnable;
    for (const Job& job : plan_.jobs) {
      if (runs(job) && finished_.count(id_of(job)) == 0) left_.wait_for(job);
    }
    progress_.begin(plan_.jobs.size() - finished_.size());
    if (report_.done_before > 0) {
      progress_.note(saved_text(report_.done_before, report_.jobs, settings_.store_path) + " already");
    }
    for (const Job& job : plan_.jobs)
      if (runs(job)) runnable.push_back(job);
    if (!settings_.busy.empty() && finished_.size() < runnable.size()) progress_.note("note: the machine is busy: " + settings_.busy);
    save_without_worker();
    Supervisor supervisor(
        supervisor_settings(), host_,
        [&](const Job& job, const std::string& worker_phase, uint64_t done) {
          const std::string units = done > 0 ? units_text(done, unit_of_work(job.point)) : "";
          progress_.under_way(phase(job) + label(job), worker_phase, units, time_left(&job));
        },
        [&](const Job& job, Record& record) { fill(job, record); });
    if (settings_.first_look) look_first(runnable, supervisor);
    const auto planner = make_planner(std::move(runnable));
    serve(*planner, supervisor);
    report_.interrupted = host_.interrupts() > 0;
    report_.open_ended = searches() || settings_.auto_repeats;
    if (report_.open_ended) report_.jobs = report_.saved + report_.done_before;
    PlannerResult found = planner->result();
    report_peaks(std::move(found.peaks));
    if (found.tuned) report_.tuned = std::move(*found.tuned);
  }

  SupervisorSettings supervisor_settings() {
    return {settings_.timeout,
            report_.run_id,
            study_.name,
            settings_.cache_dir,
            settings_.mlperf_log,
            plan_.jobs.size() > 1,
            settings_.mlperf_trace,
            settings_.save_weights,
            plan_.jobs.size() > 1,
            study_.seed,
            settings_.first_look.has_value(),
            [this](const std::string& line) { progress_.note(line); }};
  }

  // One Batch after the other, as the planner hands them out, until it has none or somebody interrupts.
  void serve(Planner& planner, Supervisor& supervisor) {
    left_.begin();
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
        left_.took(job, each_s, record.outcome != Outcome::ok);
        begin = now;
        if (is_in_virtual_time(job.point)) virtual_ahead_s_ += seconds_of(record) - each_s;
        if (!job.peak_phase.empty()) record.facts["peak.role"] = job.peak_phase;
        planner.done(record);
        set_size(job.point) > 1 ? save_with_set(job, std::move(record)) : save(job, std::move(record));
      });
    }
  }

  std::unique_ptr<Planner> make_planner(std::vector<Job> runnable) {
    const auto key = [this](const Job& job) { return group_key(job, plan_); };
    if (!searches()) {
      auto grid = make_grid_planner(std::move(runnable), study_.seed, key, finished_);
      return settings_.auto_repeats ? as_many_as_needed(std::move(grid)) : std::move(grid);
    }
    // The search's Points come as they are found: each is inspected as the one it began from, of which only its load differs.
    left_.wait_for_unknown(std::max<size_t>(runnable.size(), 1));
    std::erase_if(plan_.jobs, [&](const Job& job) { return runs(job); });
    progress_.begin(0);
    const auto time_used = [this, begin = std::chrono::steady_clock::now(), most = settings_.search_time] {
      return most ? spent_since(begin) / std::chrono::duration<double>(*most).count() : 0;
    };
    const auto announce = [this](const Job& from, const Job& job) {
      plan_.points.emplace(job.point_id, InspectedPoint(plan_.of(from)));
      plan_.jobs.push_back(job);
    };
    SearchRun run{key, time_used, announce, [this](const Job& job) { return known_run(job); }};
    if (settings_.tune) return std::make_unique<TunePlanner>(std::move(runnable), *settings_.tune, std::move(run));
    PeakOrder order = *settings_.peak;
    order.searches = std::max(1, static_cast<int>(runnable.size()));
    return std::make_unique<PeakPlanner>(std::move(runnable), order, std::move(run));
  }

  std::unique_ptr<Planner> as_many_as_needed(std::unique_ptr<Planner> grid) {
    progress_.begin(0);
    left_.wait_for_unknown();
    auto planner = std::make_unique<AutoRepeats>(std::move(grid), [this, begin = std::chrono::steady_clock::now()] {
      return settings_.search_time && spent_since(begin) >= std::chrono::duration<double>(*settings_.search_time).count();
    });
    for (const Record& record : before_) planner->done(record);
    return planner;
  }

  // Returns what a budget counts, in seconds: the time of each run's own clock, so that a busy machine changes nothing in virtual time.
  double spent_since(std::chrono::steady_clock::time_point begin) const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() + virtual_ahead_s_;
  }

  // Windows of another length would belong to another search.
  std::optional<Record> known_run(const Job& job) {
    const auto found = past_searches_.find(id_of(job));
    if (found == past_searches_.end() || found->second.stopping != job.stopping || is_of_another_device(found->second, plan_.environment))
      return std::nullopt;
    ++report_.done_before;
    count(found->second);
    return found->second;
  }

  void report_peaks(std::vector<FoundPeak> peaks) {
    report_.peaks = std::move(peaks);
    for (const FoundPeak& found : report_.peaks) {
      if (found.result.ending != PeakResult::Ending::confirmed)
        report_.failures.push_back({point_label(found.point, threads_differ_), peak_text(found, *settings_.peak), 0});
    }
  }

  bool searches() const { return settings_.peak || settings_.tune; }
  bool runs(const Job& job) const { return job.skip_reason.empty() && plan_.of(job).supported; }

  // A Record that needs no worker: refused by the inspection, or skipped by the Study.
  Record without_worker(const Job& job) {
    Record record =
        begin_record({job.point, job.repeat, job.sweep, job.stopping, job.check, report_.run_id, study_.name, {}, {}, false, {}});
    if (job.skip_reason.empty()) {
      fail_record(record, Outcome::refused, plan_.of(job).reason);
      note_refusal(record, plan_.of(job).refused_by, "inspection");
    } else {
      fail_record(record, Outcome::skipped, job.skip_reason);
    }
    fill(job, record);
    return record;
  }

  void fill(const Job& job, Record& record) const {
    const InspectedPoint& inspected = plan_.of(job);
    record.backend_version = inspected.backend_version;
    record.parameters = inspected.parameters;
    record.macs_per_item = inspected.macs_per_item;
    record.flop_per_item = inspected.flop_per_item;
    record.bytes_per_item = inspected.bytes_per_item;
    record.environment = plan_.environment;
  }

  // Saves what needs no worker: at times thousands of Records, so that a transaction for each would take longer than all else.
  void save_without_worker() {
    constexpr size_t at_once = 256;
    std::vector<const Job*> jobs;
    std::vector<Record> records;
    const auto flush = [&] {
      store_->append(records);
      for (size_t i = 0; i < jobs.size(); ++i) saved(*jobs[i], std::move(records[i]));
      jobs.clear();
      records.clear();
    };
    for (const Job& job : plan_.jobs) {
      if (runs(job) || finished_.count(id_of(job)) != 0) continue;
      jobs.push_back(&job);
      records.push_back(without_worker(job));
      add_facts(records.back());
      compute_metrics(records.back());
      if (jobs.size() == at_once) flush();
    }
    if (!jobs.empty()) flush();
  }

  void save(const Job& job, Record record) {
    if (record.outcome != Outcome::ok) compute_metrics(record);  // the worker did it for those that ran
    add_facts(record);
    store_->append(record);
    saved(job, std::move(record));
  }

  void add_facts(Record& record) const {
    for (const auto& [key, fact] : settings_.facts) record.facts[key] = fact;
    if (!devices_.shared.empty()) record.facts["device.shared"] = join(devices_.shared, ", ");
  }

  // All of a set or none of it: after a kill it is measured again as a whole.
  void save_with_set(const Job& job, Record record) {
    if (record.outcome != Outcome::ok) compute_metrics(record);
    add_facts(record);
    set_jobs_.push_back(&job);
    set_records_.push_back(std::move(record));
    if (set_jobs_.size() < set_size(job.point)) return;
    store_->append(set_records_);
    for (size_t i = 0; i < set_jobs_.size(); ++i) saved(*set_jobs_[i], std::move(set_records_[i]));
    set_jobs_.clear();
    set_records_.clear();
  }

  void saved(const Job& job, Record record) {
    ++report_.saved;
    left_.no_more(job);
    record.timings = {};
    record.series = {};
    // A refused Point is refused in all its repeats: one line reports it.
    if (runs(job) || announced_.insert(job.point_id).second) {
      progress_.finished(label(job), result_text(record, progress_.shows_reasons()), time_left());
      progress_.detail(record);
    } else {
      progress_.passed();
    }
    count(record);
    if (settings_.saved) settings_.saved(record);
  }

  void count(const Record& record) {
    collector_.add(record);
    if (is_usable(record, settings_.strict)) return;
    if (is_search_run(record.point) && record.outcome == Outcome::ok) return;  // a load that is too high is no failure
    report_.failures.push_back({point_label(record.point, threads_differ_), result_text(record), record.repeat});
    if (record.outcome == Outcome::ok && (record.verdict == Verdict::undecided || record.verdict == Verdict::invalid))
      report_.failures.back().of_verdict = point_id(record.point);
  }

  // Returns the words before the label, whose end a narrow terminal cuts.
  std::string phase(const Job& job) const {
    if (looking_) return "first look: ";
    return job.peak_phase.empty() ? "" : job.peak_phase + ": ";
  }

  std::string label(const Job& job) const {
    return point_label(job.point, threads_differ_) + (report_.repeated && runs(job) ? fmt::format(" repeat {}", job.repeat + 1) : "");
  }

  TimeSpan time_left(const Job* current = nullptr) const { return searches() ? left_.of_search(report_.saved) : left_.of_jobs(current); }

  void look_first(const std::vector<Job>& runnable, Supervisor& supervisor) {
    std::vector<Job> waiting;
    for (const Job& job : runnable)
      if (finished_.count(id_of(job)) == 0) waiting.push_back(job);
    const FirstLooks looks = first_looks(waiting, *settings_.first_look);
    if (looks.jobs.empty()) return;
    PointCollector seen;
    looking_ = true;
    take_first_looks(looks, plan_, study_.seed, *settings_.first_look, supervisor, interrupts_, left_.estimate(),
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
                    some, format_duration(looks.window), summary_table(points, terminal_columns(settings_.progress))));
  }

  const Study& study_;
  const RunSettings& settings_;
  const Inspector& inspect_;
  Interrupts interrupts_;
  ProcessHost processes_{interrupts_};
  WorkerHost& host_;
  Progress progress_;
  InspectedPlan plan_;
  HeldDevices devices_;
  bool threads_differ_ = false;
  bool looking_ = false;        // for the first time
  double virtual_ahead_s_ = 0;  // by how much the runs in virtual time were longer on their clocks than here
  std::optional<OpenStore> store_;
  std::set<JobId> finished_;
  std::vector<Record> before_;  // those of finished_, where it is they that say how many more there are to be
  PastSearches past_searches_;
  std::set<std::string> announced_;   // Points already reported as refused or skipped
  std::vector<const Job*> set_jobs_;  // Jobs of the tenant set or duel whose Records come in
  std::vector<Record> set_records_;
  TimeLeft left_{settings_};
  PointCollector collector_;
  RunReport report_;
};

}  // namespace

RunReport run_study(const Study& study, const RunSettings& settings) { return run_study_with(study, settings, inspect_in_child, nullptr); }

RunReport run_study_with(const Study& study, const RunSettings& settings, const Inspector& inspect, WorkerHost* host) {
  return Run(study, settings, inspect, host).execute();
}

}  // namespace deepgap
