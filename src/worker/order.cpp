#include "worker/order.h"

#include "base/hash.h"
#include "base/text.h"
#include "record/json_text.h"

#include <algorithm>
#include <chrono>

namespace deepgap {

template <typename V>
void fields(V& visit, WorkOrder& order) {
  visit("point", order.point);
  visit("repeat", order.repeat);
  visit("sweep", order.sweep);
  visit("stopping", order.stopping);
  visit("check", order.check);
  visit("run_id", order.run_id);
  visit("study", order.study);
  visit("cache_dir", order.cache_dir);
  visit("log_dir", order.log_dir);
  visit("log_trace", order.log_trace);
  visit("ranks", order.ranks);
  visit("rank", order.rank);
  visit("save_weights", order.save_weights);
  visit("interleaved", order.interleaved);
  visit("keep_cut_window", order.keep_cut_window);
  visit("reference_unavailable", order.reference_unavailable);
}

nlohmann::json order_to_json(const WorkOrder& order) { return json_of(order); }
WorkOrder order_from_json(const nlohmann::json& json) { return json_to<WorkOrder>(json, "work order"); }

Record begin_record(const WorkOrder& order) {
  Record record;
  record.record_id = random_id();
  record.run_id = order.run_id;
  record.study = order.study;
  record.point = order.point;
  record.repeat = order.repeat;
  record.sweep = order.sweep;
  record.stopping = order.stopping;
  record.started_unix_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  return record;
}

Outcome outcome_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::refused:
    case ErrorKind::usage:
    case ErrorKind::input:
      return Outcome::refused;
    case ErrorKind::out_of_memory:
      return Outcome::out_of_memory;
    case ErrorKind::device_lost:
      return Outcome::device_lost;
    default:
      return Outcome::crashed;
  }
}

void note_refusal(Record& record, const std::string& by, const std::string& at) {
  record.facts["refused.by"] = by;
  record.facts["refused.at"] = at;
}

void fail_record(Record& record, Outcome outcome, const std::string& reason) {
  record.outcome = outcome;
  record.verdict = Verdict::none;
  record.reason = trim(reason);
  std::replace(record.reason.begin(), record.reason.end(), '\n', ' ');
}

}  // namespace deepgap
