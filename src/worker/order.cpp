#include "worker/order.h"

#include "base/hash.h"
#include "base/json_words.h"
#include "base/text.h"
#include "record/record_json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>

namespace deepgap {

nlohmann::json order_to_json(const WorkOrder& order) {
  return {{"point", point_to_json(order.point)},
          {"repeat", order.repeat},
          {"sweep", order.sweep},
          {"stopping", stopping_to_json(order.stopping)},
          {"check", order.check},
          {"run_id", order.run_id},
          {"study", order.study},
          {"cache_dir", order.cache_dir},
          {"mlperf_log", order.mlperf_log},
          {"mlperf_trace", order.mlperf_trace},
          {"ranks", order.ranks},
          {"rank", order.rank},
          {"save_weights", order.save_weights},
          {"interleaved", order.interleaved},
          {"keep_cut_window", order.keep_cut_window},
          {"reference_unavailable", order.reference_unavailable}};
}

WorkOrder order_from_json(const nlohmann::json& json) {
  try {
    WorkOrder order;
    order.point = point_from_json(json.at("point"));
    order.stopping = stopping_from_json(json.at("stopping"));
    json.at("repeat").get_to(order.repeat);
    json.at("sweep").get_to(order.sweep);
    json.at("check").get_to(order.check);
    json.at("run_id").get_to(order.run_id);
    json.at("study").get_to(order.study);
    json.at("cache_dir").get_to(order.cache_dir);
    json.at("mlperf_log").get_to(order.mlperf_log);
    json.at("mlperf_trace").get_to(order.mlperf_trace);
    json.at("ranks").get_to(order.ranks);
    json.at("rank").get_to(order.rank);
    json.at("save_weights").get_to(order.save_weights);
    json.at("interleaved").get_to(order.interleaved);
    json.at("keep_cut_window").get_to(order.keep_cut_window);
    json.at("reference_unavailable").get_to(order.reference_unavailable);
    return order;
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::input, "damaged work order: " + json_words(error));
  }
}

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
