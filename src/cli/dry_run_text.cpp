#include "cli/dry_run_text.h"

#include "analysis/words.h"
#include "base/dump_json.h"
#include "base/text.h"
#include "record/record_json.h"
#include "run/progress.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace deepgap {
namespace {

std::string seconds_text(double seconds) { return format_duration(static_cast<int64_t>(seconds * 1e9)); }

std::string time_text(const TimeSpan& time) {
  const std::string about = "about " + seconds_text(time.likely);
  return time.is_one_figure() ? about : fmt::format("{} ({})", about, range_text(time));
}

std::string fate_of(const PlannedPoint& planned) {
  std::string fate = planned.skipped   ? "skipped: " + planned.reason
                     : planned.refused ? "refused: " + planned.reason
                                       : "about " + seconds_text(planned.seconds);
  if (!planned.search.empty()) {
    fate = planned.search;
  } else if (planned.repeats > 1) {
    fate = fmt::format("{} repeats, {}", planned.repeats, fate);
  }
  return planned.done_before > 0 ? fmt::format("{} already in the store, {}", planned.done_before, fate) : fate;
}

nlohmann::json point_json(const PlannedPoint& planned) {
  nlohmann::json json{{"point_id", planned.point_id},
                      {"point", point_to_json(planned.point)},
                      {"repeats", planned.repeats},
                      {"done", planned.done_before},
                      {"plan", planned.skipped   ? "skip"
                               : planned.refused ? "refuse"
                                                 : "run"},
                      {"reason", planned.reason},
                      {"seconds", planned.seconds}};
  if (!planned.search.empty()) json["search"] = planned.search;
  return json;
}

}  // namespace

std::string dry_run_text(const DryRun& plan) {
  std::string text;
  size_t refused = 0, skipped = 0;
  int records = 0;
  for (const PlannedPoint& planned : plan.points) {
    refused += planned.refused ? 1 : 0;
    skipped += planned.skipped ? 1 : 0;
    if (!planned.refused && !planned.skipped) records += planned.repeats - planned.done_before;
    text += fmt::format("{}: {}\n", point_label(planned.point), fate_of(planned));
  }
  return text + fmt::format("{}, {} to measure, {} refused, {} skipped; {}\n",
                            count_of(static_cast<int64_t>(plan.points.size()), "point", "points"), count_of(records, "record", "records"),
                            refused, skipped, plan.time.is_known() ? time_text(plan.time) : "nothing to measure");
}

std::string dry_run_json(const DryRun& plan, const std::string& study) {
  nlohmann::json json{{"study", study}, {"seconds", plan.time.likely}, {"points", nlohmann::json::array()}};
  if (plan.time.has_ends()) json.update({{"seconds_low", plan.time.low}, {"seconds_high", plan.time.high}});
  for (const PlannedPoint& planned : plan.points) json["points"].push_back(point_json(planned));
  return dump_indented(json);
}

}  // namespace deepgap
