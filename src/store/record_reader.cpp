#include "store/record_rows.h"

#include "record/record_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <limits>

namespace deepgap {
namespace {

// Column numbers of the SELECT below.
enum Column {
  row_id,
  record_id,
  run,
  point,
  environment,
  settings,
  repeat,
  sweep,
  tenant,
  rank,
  started_unix_ns,
  outcome,
  verdict,
  reason,
  unchecked,
  load_s,
  compile_s,
  first_result_ms,
  device_reserved,
  device_in_use,
  device_peak,
  host_memory_peak,
  warmup_queries,
  timings_dropped,
  rest
};
constexpr const char* select_records =
    "SELECT id, record_id, run, point, environment, settings, repeat, sweep, tenant, rank, started_unix_ns, outcome, verdict, reason, "
    "unchecked, load_s, compile_s, first_result_ms, device_reserved_bytes, device_in_use_bytes, device_peak_bytes, "
    "host_memory_peak_bytes, warmup_queries, timings_dropped, rest FROM records ORDER BY id";
constexpr const char* select_metrics = "SELECT record, metric, value, low, high, n FROM metric_values ORDER BY record, metric";

[[noreturn]] void damaged(std::string_view what) { throw Error(ErrorKind::input, fmt::format("damaged Store: {}", what)); }

nlohmann::json parse(std::string_view text, std::string_view what) {
  auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) damaged(fmt::format("{} is no JSON", what));
  return json;
}

template <typename T>
const T& look_up(const std::unordered_map<int64_t, T>& rows, int64_t id, std::string_view table) {
  const auto found = rows.find(id);
  if (found == rows.end()) damaged(fmt::format("row {} of table {} is missing", id, table));
  return found->second;
}

}  // namespace

RecordReader::RecordReader(Database& database) : records_(database, select_records), metrics_(database, select_metrics) {
  load_shared(database);
  more_metrics_ = metrics_.step();
}

RecordReader::Settings RecordReader::parse_settings(std::string_view text) {
  const nlohmann::json json = parse(text, "a row of settings");
  try {
    return {stopping_from_json(json.at("stopping")),           json.at("backend_version").get<std::string>(),
            json.at("dataset_description").get<std::string>(), json.at("parameters").get<int64_t>(),
            json.at("macs_per_item").get<int64_t>(),           json.at("flop_per_item").get<int64_t>(),
            json.at("bytes_per_item").get<int64_t>()};
  } catch (const nlohmann::json::exception& error) {
    damaged(error.what());
  }
}

void RecordReader::load_shared(Database& database) {
  const auto rows = [&](const char* sql, const auto& take) {
    Statement statement(database, sql);
    while (statement.step()) take(statement.integer(0), statement);
  };
  rows("SELECT id, json FROM environments",
       [&](int64_t id, const Statement& s) { environments_.emplace(id, facts_from_json(parse(s.text(1), "an environment"))); });
  rows("SELECT id, json FROM settings", [&](int64_t id, const Statement& s) { settings_.emplace(id, parse_settings(s.text(1))); });
  rows("SELECT id, json FROM points",
       [&](int64_t id, const Statement& s) { points_.emplace(id, point_from_json(parse(s.text(1), "a point"))); });
  rows("SELECT id, run_id, study FROM runs", [&](int64_t id, const Statement& s) {
    runs_.emplace(id, Run{std::string(s.text(1)), std::string(s.text(2))});
  });
  rows("SELECT id, name FROM metric_names", [&](int64_t id, const Statement& s) { metric_names_.emplace(id, s.text(1)); });
}

void RecordReader::read_columns(Record& record) const {
  const Statement& s = records_;
  record.record_id = s.text(record_id);
  record.repeat = static_cast<int>(s.integer(repeat));
  record.sweep = static_cast<int>(s.integer(sweep));
  record.tenant = s.text(tenant);
  record.rank = static_cast<int>(s.integer(rank));
  record.started_unix_ns = s.integer(started_unix_ns);
  const auto known_outcome = outcome_from(s.text(outcome));
  const auto known_verdict = verdict_from(s.text(verdict));
  if (!known_outcome || !known_verdict) damaged(fmt::format("record {} has an unknown outcome or verdict", record.record_id));
  record.outcome = *known_outcome;
  record.verdict = *known_verdict;
  record.reason = s.text(reason);
  record.unchecked = s.integer(unchecked) != 0;
  record.load_s = s.optional_real(load_s);
  record.compile_s = s.optional_real(compile_s);
  record.first_result_ms = s.optional_real(first_result_ms);
  record.device_memory = {s.integer(device_reserved), s.integer(device_in_use), s.integer(device_peak)};
  record.host_memory_peak_bytes = s.optional_integer(host_memory_peak);
  record.warmup_queries = s.integer(warmup_queries);
  record.timings_dropped = s.integer(timings_dropped);
}

void RecordReader::read_shared(Record& record) const {
  const Statement& s = records_;
  record.point = look_up(points_, s.integer(point), "points");
  record.environment = look_up(environments_, s.integer(environment), "environments");
  const Run& of_run = look_up(runs_, s.integer(run), "runs");
  record.run_id = of_run.run_id;
  record.study = of_run.study;
  const Settings& shared = look_up(settings_, s.integer(settings), "settings");
  record.stopping = shared.stopping;
  record.backend_version = shared.backend_version;
  record.dataset_description = shared.dataset_description;
  record.parameters = shared.parameters;
  record.macs_per_item = shared.macs_per_item;
  record.flop_per_item = shared.flop_per_item;
  record.bytes_per_item = shared.bytes_per_item;
}

void RecordReader::read_rest(Record& record) const {
  const nlohmann::json json = parse(records_.text(rest), "a record's rest");
  try {
    record.facts = facts_from_json(json.at("facts"));
    record.windows = windows_from_json(json.at("windows"));
    if (const auto check = json.find("check"); check != json.end()) record.check = check_from_json(*check);
    if (const auto tail = json.find("stderr_tail"); tail != json.end()) record.stderr_tail = tail->get<std::string>();
  } catch (const nlohmann::json::exception& error) {
    damaged(error.what());
  }
}

void RecordReader::read_metrics(Record& record, int64_t row) {
  for (; more_metrics_ && metrics_.integer(0) <= row; more_metrics_ = metrics_.step()) {
    if (metrics_.integer(0) < row) continue;
    Estimate& estimate = record.estimates[look_up(metric_names_, metrics_.integer(1), "metric_names")];
    estimate.value = metrics_.is_null(2) ? std::numeric_limits<double>::quiet_NaN() : metrics_.real(2);
    estimate.low = metrics_.optional_real(3);
    estimate.high = metrics_.optional_real(4);
    estimate.n = metrics_.integer(5);
  }
}

bool RecordReader::next(Record& record, int64_t& row) {
  if (!records_.step()) return false;
  record = Record{};
  row = records_.integer(row_id);
  read_columns(record);
  read_shared(record);
  read_rest(record);
  read_metrics(record, row);
  return true;
}

}  // namespace deepgap
