#include "cli/rerun_jobs.h"

#include "record/averaged.h"
#include "record/duel_set.h"
#include "record/fact_values.h"
#include "record/published.h"
#include "record/record_json.h"
#include "record/search_marks.h"
#include "record/tenant_set.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

void require_own(const Record& record) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorKind::usage, fmt::format("record {} cannot be repeated: {}", short_id(record), why));
  };
  if (is_published(record.point)) refuse(fmt::format("{} published it; it was not measured here", publisher_of(record.point)));
  if (is_averaged(record.point)) refuse(fmt::format("it is an average over {} repeats that are not in the store", repeats_in(record)));
  if (is_search_run(record.point)) refuse("it is one run of a search; repeat the search with deepgap run --find-peak or deepgap tune");
}

// Returns how many Points are measured together with this one, itself included.
int count_together(const Point& point) {
  if (const auto tenant = tenant_place(point)) return tenant->count;
  if (const auto contender = contender_place(point)) return contender->count;
  return 1;
}

bool are_together(const Point& a, const Point& b) {
  if (tenant_place(a)) return tenant_place(b) && tenant_set_key(a) == tenant_set_key(b);
  return contender_place(a) && contender_place(b) && duel_of(a) == duel_of(b);
}

// Returns the engines with which it was interleaved, itself included; empty: none.
std::string arms_of(const Record& record) { return fact_or<std::string>(record.facts, interleaved_arms_fact, ""); }

bool are_interleaved(const Record& a, const Record& b) {
  return !arms_of(a).empty() && arms_of(a) == arms_of(b) && without_engine(a.point) == without_engine(b.point);
}

// Unchecked without a reason: nobody wanted it checked.
bool was_checked(const Record& record) { return record.check.has_value() || !record.unchecked || !record.reason.empty(); }

}  // namespace

std::string short_id(const Record& record) { return record.record_id.substr(0, 8); }

const Record& only_one(const std::vector<Record>& found, const std::string& beginning) {
  if (found.empty()) throw Error(ErrorKind::usage, fmt::format("no record_id begins with '{}'; deepgap export lists them", beginning));
  if (found.size() > 1) throw Error(ErrorKind::usage, fmt::format("several record_ids begin with {}: give more digits", beginning));
  return found.front();
}

bool is_kin(const Record& record, const Record& other) {
  const bool is_beside = are_together(record.point, other.point) || are_interleaved(record, other);
  return other.run_id == record.run_id && (other.point == record.point || is_beside);
}

std::vector<const Record*> measured_together(const std::vector<Record>& kin, const Record& record) {
  const int count = count_together(record.point);
  if (count == 1 && arms_of(record).empty()) return {&record};
  std::vector<const Record*> together;
  for (const Record& other : kin) {
    if (other.repeat == record.repeat && is_kin(record, other)) together.push_back(&other);
  }
  if (count == 1) return together;  // interleaved engines, each a result of its own
  const auto place = [](const Record* member) {
    const auto tenant = tenant_place(member->point);
    return tenant ? tenant->number : contender_place(member->point)->number;
  };
  std::sort(together.begin(), together.end(), [&](const Record* a, const Record* b) { return place(a) < place(b); });
  if (together.size() != static_cast<size_t>(count))
    throw Error(ErrorKind::input, fmt::format("record {} was measured with {} other{}, of which the store has {}", short_id(record),
                                              count - 1, count == 2 ? "" : "s", together.size() - 1));
  return together;
}

std::vector<Job> rerun_jobs(const std::vector<const Record*>& together, int repeats) {
  std::vector<Job> jobs;
  for (int i = 0; i < repeats; ++i) {
    for (const Record* record : together) {
      require_own(*record);
      Job job{record->point, point_id(record->point), record->repeat + i, record->sweep, record->stopping};
      job.check = was_checked(*record);
      job.interleave = !arms_of(*record).empty();
      jobs.push_back(std::move(job));
    }
  }
  return jobs;
}

}  // namespace deepgap
