#include "run/finished_records.h"

#include "record/identity.h"
#include "record/record_json.h"
#include "run/time_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace deepgap {
namespace {

JobId id_of(const Record& record) { return {point_id(record.point), record.repeat}; }

}  // namespace

bool is_of_another_device(const Record& record, const Facts& here) {
  const Identity there = identity_of(record), own = identity_of(record.point, here);
  return !there.device.empty() && !own.device.empty() && there.device != own.device;
}

FinishedRecords EarlierRecords::finished(const std::set<JobId>& planned, const std::function<void(Record&&)>& each) const {
  FinishedRecords found;
  const std::set<JobId> all = settings_.own_study ? finished_of_study() : store_.finished();
  std::set_intersection(planned.begin(), planned.end(), all.begin(), all.end(), std::inserter(found.jobs, found.jobs.end()));
  if (found.jobs.empty()) return found;
  leave_out_other_devices(found.jobs);
  if (found.jobs.empty()) return found;
  std::map<std::string, const Job*> jobs;
  for (const Job& job : plan_.jobs) jobs.emplace(job.point_id, &job);
  std::set<std::string> otherwise;  // Points with repeats that ended by another rule
  store_.each([&](Record&& record) {
    const JobId id = id_of(record);
    if (found.jobs.count(id) == 0 || !counts(record) || is_of_another_device(record, plan_.environment)) return;
    if (record.outcome == Outcome::ok) found.seconds[id.first] = seconds_of(record);
    if (record.outcome == Outcome::ok && record.stopping != jobs.at(id.first)->stopping) otherwise.insert(id.first);
    each(std::move(record));
  });
  if (!otherwise.empty())
    progress_.note(
        fmt::format("{} of the points have records in {} that were ended by another rule (warm-up, iterations, duration, interval or "
                    "budget); their repeats count together; to keep them apart, give another --store",
                    otherwise.size(), settings_.store_path));
  return found;
}

// The same Point on another device is another result. The GPU here is not known yet; the environment at least shows another machine.
void EarlierRecords::leave_out_other_devices(std::set<JobId>& finished) const {
  std::set<JobId> here, elsewhere, unsure;
  store_.look([&](const Record& record) {
    const JobId id = id_of(record);
    if (finished.count(id) == 0 || !counts(record)) return;
    (is_of_another_device(record, plan_.environment) ? elsewhere : here).insert(id);
    const Identity there = identity_of(record), own = identity_of(record.point, plan_.environment);
    if (own.device.empty() && !there.machine.empty() && there.machine != own.machine) unsure.insert(id);
  });
  for (const JobId& id : elsewhere) {
    if (here.count(id) == 0) finished.erase(id);
  }
  if (!elsewhere.empty())
    progress_.note(fmt::format("{} records in {} are of another device; they do not count here", elsewhere.size(), settings_.store_path));
  if (!unsure.empty())
    progress_.note(
        fmt::format("{} records in {} were measured in another machine and count as done; to measure them here too, give "
                    "another --store and report on both",
                    unsure.size(), settings_.store_path));
}

std::set<JobId> EarlierRecords::finished_of_study() const {
  std::set<JobId> finished;
  store_.look([&](const Record& record) {
    if (counts(record)) finished.insert(id_of(record));
  });
  return finished;
}

}  // namespace deepgap
