#include "run/past_searches.h"

#include "record/record_json.h"
#include "record/search_marks.h"

namespace deepgap {

PastSearches read_past_searches(const Store& store, const std::optional<std::string>& study) {
  PastSearches past;
  store.each([&](Record&& record) {
    if (!is_search_run(record.point) || record.outcome == Outcome::interrupted) return;
    if (study && record.study != *study) return;
    const JobId id{point_id(record.point), record.repeat};
    past.insert_or_assign(id, std::move(record));
  });
  return past;
}

}  // namespace deepgap
