#include "store/record_rows.h"

#include "base/json_words.h"
#include "base/parse_json.h"
#include "record/record_json.h"
#include "record/tuning_mark.h"
#include "store/annotations.h"
#include "store/schema.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

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
  check_against,
  check_samples,
  check_max_abs_error,
  check_mean_abs_error,
  check_sqnr_db,
  check_top1_agreement,
  check_min_sqnr_db,
  check_pass,
  windows,
  facts,
  momentary,
  stderr_tail
};
constexpr const char* select_records =
    "SELECT id, record_id, run, point, environment, settings, repeat, sweep, tenant, rank, started_unix_ns, outcome, {}, reason, "
    "unchecked, load_s, compile_s, first_result_ms, device_reserved_bytes, device_in_use_bytes, device_peak_bytes, "
    "host_memory_peak_bytes, warmup_queries, timings_dropped, check_against, check_samples, check_max_abs_error, check_mean_abs_error, "
    "check_sqnr_db, check_top1_agreement, check_min_sqnr_db, check_pass, windows, facts, momentary, stderr_tail FROM records ORDER BY id";
constexpr const char* select_metrics = "SELECT record, metric, value, low, high, n FROM metric_values ORDER BY record, metric";

constexpr const char* select_annotations = "SELECT record, kind, text FROM remarks ORDER BY record, kind, text";
constexpr const char* select_no_annotations = "SELECT 0, '', '' WHERE 0";

constexpr int64_t most_metric_names = 1'000'000;

[[noreturn]] void damaged(std::string_view what) { throw Error(ErrorKind::input, fmt::format("damaged store: {}", what)); }

nlohmann::json parse(std::string_view text, std::string_view what) {
  auto json = parse_json(text);
  if (json.is_discarded()) damaged(fmt::format("{} is not JSON", what));
  return json;
}

std::vector<Window> parse_windows(std::string_view text) {
  std::vector<Window> list;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    Window& window = list.emplace_back();
    const auto first = std::from_chars(at, end, window.begin);
    if (first.ec != std::errc{} || first.ptr == end) damaged("a window is cut off");
    const auto second = std::from_chars(first.ptr + 1, end, window.end);
    if (second.ec != std::errc{} || second.ptr == end) damaged("a window is cut off");
    const char* const line_end = std::find(second.ptr, end, '\n');
    if (line_end == end) damaged("a window is cut off");
    window.name.assign(second.ptr + 1, line_end);
    at = line_end + 1;
  }
  return list;
}

template <typename T>
const T& look_up(const std::unordered_map<int64_t, T>& rows, int64_t id, std::string_view table) {
  const auto found = rows.find(id);
  if (found == rows.end()) damaged(fmt::format("row {} of table {} is missing", id, table));
  return found->second;
}

}  // namespace

RecordReader::RecordReader(Database& database)
    : records_(database, fmt::format(select_records, verdict_column(database)).c_str()),
      metrics_(database, select_metrics),
      annotations_(database, keeps_annotations(database) ? select_annotations : select_no_annotations) {
  load_shared(database);
  step_metrics();
  step_annotations();
}

RecordReader::Settings RecordReader::parse_settings(std::string_view text) {
  const nlohmann::json json = parse(text, "a row of settings");
  try {
    return {stopping_from_json(json.at("stopping")),           json.at("backend_version").get<std::string>(),
            json.at("dataset_description").get<std::string>(), json.at("parameters").get<int64_t>(),
            json.at("macs_per_item").get<int64_t>(),           json.at("flop_per_item").get<int64_t>(),
            json.at("bytes_per_item").get<int64_t>()};
  } catch (const nlohmann::json::exception& error) {
    damaged(json_words(error));
  }
}

void RecordReader::load_shared(Database& database) {
  const auto rows = [&](const char* sql, const auto& take) {
    SqlStatement statement(database, sql);
    while (statement.step()) take(statement.integer(0), statement);
  };
  rows("SELECT id, json FROM environments",
       [&](int64_t id, const SqlStatement& s) { environments_.emplace(id, facts_from_json(parse(s.text(1), "an environment"))); });
  rows("SELECT id, json FROM settings", [&](int64_t id, const SqlStatement& s) { settings_.emplace(id, parse_settings(s.text(1))); });
  rows("SELECT id, json FROM points",
       [&](int64_t id, const SqlStatement& s) { points_.emplace(id, with_tuning_mark(point_from_json(parse(s.text(1), "a point")))); });
  rows("SELECT id, run_id, study FROM runs", [&](int64_t id, const SqlStatement& s) {
    runs_.emplace(id, Run{std::string(s.text(1)), std::string(s.text(2))});
  });
  rows("SELECT id, name FROM metric_names", [&](int64_t id, const SqlStatement& s) {
    if (id < 0 || id > most_metric_names) damaged("a metric's number is out of range");
    metric_names_.resize(std::max(metric_names_.size(), static_cast<size_t>(id) + 1));
    metric_names_[static_cast<size_t>(id)] = s.text(1);
  });
}

void RecordReader::read_columns() {
  const SqlStatement& s = records_;
  Record& record = record_;
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

// Keeps what the Record before this one shared with it.
void RecordReader::read_shared() {
  const SqlStatement& s = records_;
  if (const int64_t id = s.integer(point); std::exchange(kept_.point, id) != id) record_.point = look_up(points_, id, "points");
  if (const int64_t id = s.integer(run); std::exchange(kept_.run, id) != id) {
    const Run& shared = look_up(runs_, id, "runs");
    record_.run_id = shared.run_id;
    record_.study = shared.study;
  }
  if (const int64_t id = s.integer(settings); std::exchange(kept_.settings, id) != id) {
    const Settings& shared = look_up(settings_, id, "settings");
    record_.stopping = shared.stopping;
    record_.backend_version = shared.backend_version;
    record_.dataset_description = shared.dataset_description;
    record_.parameters = shared.parameters;
    record_.macs_per_item = shared.macs_per_item;
    record_.flop_per_item = shared.flop_per_item;
    record_.bytes_per_item = shared.bytes_per_item;
  }
}

void RecordReader::read_environment() {
  for (const std::string& key : momentary_) record_.environment.erase(key);
  momentary_.clear();
  if (const int64_t id = records_.integer(environment); std::exchange(kept_.environment, id) != id) {
    // Comparing is several times cheaper than copying, and whoever could have changed it mostly has not.
    const Facts& shared = look_up(environments_, id, "environments");
    if (record_.environment != shared) record_.environment = shared;
  }
  const std::string_view own = records_.text(momentary);
  if (own.empty()) return;
  for (auto& [key, fact] : facts_from_json(parse(own, "a record's momentary facts"))) {
    record_.environment.insert_or_assign(key, std::move(fact));
    momentary_.push_back(key);
  }
}

void RecordReader::read_check() {
  const SqlStatement& s = records_;
  record_.check.reset();
  if (s.is_null(check_against)) return;
  CheckResult& check = record_.check.emplace();
  const auto number = [&](int column) { return s.is_null(column) ? std::numeric_limits<double>::quiet_NaN() : s.real(column); };
  check.against = s.text(check_against);
  check.samples = s.integer(check_samples);
  check.max_abs_error = number(check_max_abs_error);
  check.mean_abs_error = number(check_mean_abs_error);
  check.sqnr_db = number(check_sqnr_db);
  check.top1_agreement = s.optional_real(check_top1_agreement);
  check.min_sqnr_db = s.optional_real(check_min_sqnr_db);
  check.pass = s.integer(check_pass) != 0;
}

void RecordReader::read_metrics(int64_t row) {
  record_.estimates.clear();
  for (; metrics_row_ && *metrics_row_ <= row; step_metrics()) {
    if (*metrics_row_ < row) continue;
    const auto id = static_cast<size_t>(metrics_.integer(1));
    if (id >= metric_names_.size()) damaged(fmt::format("metric {} has no name", id));
    const double value = metrics_.is_null(2) ? std::numeric_limits<double>::quiet_NaN() : metrics_.real(2);
    // Names are numbered in the order they came, which nearly always is the map's.
    record_.estimates.emplace_hint(record_.estimates.end(), metric_names_[id],
                                   Estimate{value, metrics_.optional_real(3), metrics_.optional_real(4), metrics_.integer(5)});
  }
}

// Does not step after the end: a step behind the last row begins again.
void RecordReader::step_metrics() { metrics_row_ = metrics_.step() ? std::optional(metrics_.integer(0)) : std::nullopt; }

// A kind that a later version may add is passed over.
void RecordReader::read_annotations(int64_t row) {
  record_.annotations = {};
  for (; annotations_row_ && *annotations_row_ <= row; step_annotations()) {
    if (*annotations_row_ < row) continue;
    const auto kind = annotation_kind_from(annotations_.text(1));
    if (kind) texts_of(record_.annotations, *kind).emplace(annotations_.text(2));
  }
}

void RecordReader::step_annotations() { annotations_row_ = annotations_.step() ? std::optional(annotations_.integer(0)) : std::nullopt; }

bool RecordReader::next() {
  if (!records_.step()) return false;
  row_ = records_.integer(row_id);
  read_columns();
  read_shared();
  read_environment();
  read_check();
  record_.windows = parse_windows(records_.text(windows));
  record_.facts = facts_from_json(parse(records_.text(facts), "a record's facts"));
  record_.stderr_tail = records_.text(stderr_tail);
  read_metrics(row_);
  read_annotations(row_);
  return true;
}

Record& RecordReader::lend() {
  kept_ = {};
  return record_;
}

BlockReader::BlockReader(Database& database)
    : select_(database, keeps_profiles(database)
                            ? "SELECT r.timings, b.timings, b.series, p.profile FROM records r LEFT JOIN blocks b ON b.record = r.id "
                              "LEFT JOIN profiles p ON p.record = r.id WHERE r.id = ?"
                            : "SELECT r.timings, b.timings, b.series, NULL FROM records r LEFT JOIN blocks b ON b.record = r.id "
                              "WHERE r.id = ?") {}

Blocks BlockReader::operator()(int64_t row) {
  Blocks blocks;
  select_.bind(0, row);
  if (select_.step()) {
    blocks.timing_count = select_.integer(0);
    blocks.timings = select_.text(1);
    blocks.series = select_.text(2);
    blocks.profile = select_.text(3);
  }
  select_.reset();
  return blocks;
}

}  // namespace deepgap
