// Finds what it takes to repeat a Record: the Jobs of its Point, and of those that were measured with it. Pure; any thread.
#pragma once

#include "plan/study.h"

#include <deepgap/record.h>

#include <string>
#include <vector>

namespace deepgap {

// Returns the first eight digits of the record_id, as shown to people.
std::string short_id(const Record& record);

// The one of those whose record_id begins so. Throws Error{usage} where there is none, or several.
const Record& only_one(const std::vector<Record>& found, const std::string& beginning);

// Returns whether it is of the same run, and of the same Point or of one that was measured together with that: a tenant of its set, a
// contender of its duel, an engine that it was interleaved with.
bool is_kin(const Record& record, const Record& other);

// The Record with the tenants of its set, the contenders of its duel or the engines that it was interleaved with, in the same repeat of the
// same run; alone it is the only one. `kin`: all of the Store that is. Throws Error{input} where one of them is missing.
std::vector<const Record*> measured_together(const std::vector<Record>& kin, const Record& record);

// Each of them `repeats` times with the settings it had, counted on from its own repeat, so that what is drawn for a repeat (arrivals) is
// drawn again. Throws Error{usage} for what no plan of ours measured on its own: published rows, runs of a peak search or of tuning.
std::vector<Job> rerun_jobs(const std::vector<const Record*>& together, int repeats);

}  // namespace deepgap
