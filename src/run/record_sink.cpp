#include "run/record_sink.h"

#include "analysis/metric.h"
#include "base/text.h"
#include "record/duel_set.h"
#include "record/load_axis.h"
#include "record/record_json.h"
#include "record/search_marks.h"
#include "record/tenant_set.h"
#include "worker/order.h"

#include <fmt/format.h>

#include <utility>

namespace deepgap {
namespace {

// Returns how many Records come together.
size_t set_size(const Point& point) {
  const auto tenant = tenant_place(point);
  const auto contender = contender_place(point);
  return static_cast<size_t>(tenant ? tenant->count : contender ? contender->count : 1);
}

}  // namespace

const Store& RecordSink::open() { return store_.emplace(run_.settings.store_path).store(); }

void RecordSink::fill(const Job& job, Record& record) const {
  const InspectedPoint& inspected = run_.plan.of(job);
  record.backend_version = inspected.backend_version;
  record.parameters = inspected.parameters;
  record.macs_per_item = inspected.macs_per_item;
  record.flop_per_item = inspected.flop_per_item;
  record.bytes_per_item = inspected.bytes_per_item;
  record.environment = run_.plan.environment;
}

Record RecordSink::without_worker(const Job& job) const {
  Record record =
      begin_record({job.point, job.repeat, job.sweep, job.stopping, job.check, run_.report.run_id, run_.study.name, {}, {}, false, {}});
  if (job.skip_reason.empty()) {
    fail_record(record, Outcome::refused, run_.plan.of(job).reason);
    note_refusal(record, run_.plan.of(job).refused_by, "inspection");
  } else {
    fail_record(record, Outcome::skipped, job.skip_reason);
  }
  fill(job, record);
  return record;
}

// At times there are thousands of them, so that a transaction for each would take longer than all else.
void RecordSink::save_without_worker(const std::set<JobId>& finished) {
  constexpr size_t at_once = 256;
  for (const Job& job : run_.plan.jobs) {
    if (run_.runs(job) || finished.contains(id_of(job))) continue;
    jobs_.push_back(&job);
    records_.push_back(without_worker(job));
    complete(records_.back());
    if (jobs_.size() == at_once) append();
  }
  if (!jobs_.empty()) append();
}

void RecordSink::save(const Job& job, Record record) {
  complete(record);
  jobs_.push_back(&job);
  records_.push_back(std::move(record));
  if (records_.size() == set_size(job.point)) append();
}

void RecordSink::complete(Record& record) const {
  if (record.outcome != Outcome::ok) compute_metrics(record);  // the worker did it for those that ran
  for (const auto& [key, fact] : run_.settings.facts) record.facts[key] = fact;
  if (!shared_.empty()) record.facts["device.shared"] = join(shared_, ", ");
}

void RecordSink::append() {
  store_->append(records_);
  for (size_t i = 0; i < jobs_.size(); ++i) saved(*jobs_[i], std::move(records_[i]));
  jobs_.clear();
  records_.clear();
}

void RecordSink::saved(const Job& job, Record record) {
  ++run_.report.saved;
  run_.left.no_more(job);
  record.timings = {};
  record.series = {};
  // A refused Point is refused in all its repeats: one line reports it.
  if (run_.runs(job) || announced_.insert(job.point_id).second) {
    run_.progress.finished(run_.label(job), result_text(record, run_.progress.shows_reasons()), run_.time_left());
    run_.progress.detail(record);
  } else {
    run_.progress.passed();
  }
  count(record);
  if (run_.settings.saved) run_.settings.saved(record);
}

void RecordSink::count(const Record& record) {
  collector_.add(record);
  if (is_usable(record, run_.settings.strict)) return;
  if (is_search_run(record.point) && record.outcome == Outcome::ok) return;  // a load that is too high is no failure
  run_.report.failures.push_back({run_.label(record.point), result_text(record), record.repeat});
  if (record.outcome == Outcome::ok && (record.verdict == Verdict::undecided || record.verdict == Verdict::invalid))
    run_.report.failures.back().of_verdict = point_id(record.point);
}

}  // namespace deepgap
