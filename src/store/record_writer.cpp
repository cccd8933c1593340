#include "base/dump_json.h"
#include "store/record_rows.h"

#include "base/hash.h"
#include "record/momentary.h"
#include "record/record_json.h"
#include "record/timing_block.h"
#include "store/annotations.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace deepgap {
namespace {

nlohmann::json settings_json(const Record& record, const nlohmann::json& header) {
  nlohmann::json json = {{"stopping", stopping_to_json(record.stopping)}};
  for (const char* key : {"backend_version", "dataset_description", "parameters", "macs_per_item", "flop_per_item", "bytes_per_item"}) {
    json[key] = header.at(key);
  }
  return json;
}

// "0 5000000 load" a line, in nanoseconds of the run's clock.
std::string windows_text(const std::vector<Window>& windows) {
  std::string text;
  for (const Window& window : windows) {
    const std::string first_line = window.name.substr(0, window.name.find('\n'));
    text += fmt::format("{} {} {}\n", window.begin, window.end, first_line);
  }
  return text;
}

void bind_check(SqlStatement& s, int first, const std::optional<CheckResult>& check) {
  if (!check) {
    for (int i = 0; i < 8; ++i) s.bind_null(first + i);
    return;
  }
  s.bind(first, check->against).bind(first + 1, check->samples).bind(first + 2, check->max_abs_error);
  s.bind(first + 3, check->mean_abs_error).bind(first + 4, check->sqnr_db).bind(first + 5, check->top1_agreement);
  s.bind(first + 6, check->min_sqnr_db).bind(first + 7, int64_t{check->pass});
}

const std::string& text_of(const nlohmann::json& header, const char* key) { return header.at(key).get_ref<const std::string&>(); }

}  // namespace

Blocks encode_blocks(const Record& record) {
  Blocks blocks;
  blocks.timing_count = static_cast<int64_t>(record.timings.size());
  if (!record.timings.empty()) blocks.timings = encode_timings(record.timings);
  if (!record.series.empty()) blocks.series = encode_series(record.series);
  return blocks;
}

RecordWriter::RecordWriter(Database& database)
    : database_(database),
      insert_record_(database,
                     "INSERT INTO records(record_id, run, point, environment, settings, repeat, sweep, tenant, rank, started_unix_ns, "
                     "outcome, verdict, reason, unchecked, load_s, compile_s, first_result_ms, device_reserved_bytes, "
                     "device_in_use_bytes, device_peak_bytes, host_memory_peak_bytes, warmup_queries, timings, timings_dropped, "
                     "check_against, check_samples, check_max_abs_error, check_mean_abs_error, check_sqnr_db, check_top1_agreement, "
                     "check_min_sqnr_db, check_pass, windows, facts, momentary, stderr_tail) "
                     "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"),
      insert_metric_(database, "INSERT INTO metric_values(record, metric, value, low, high, n) VALUES(?,?,?,?,?,?)"),
      insert_blocks_(database, "INSERT INTO blocks(record, timings, series) VALUES(?,?,?)"),
      insert_profile_(database, "INSERT INTO profiles(record, profile) VALUES(?,?)"),
      insert_annotation_(database, "INSERT INTO remarks(record, kind, text) VALUES(?,?,?)"),
      find_run_(database, "SELECT id FROM runs WHERE run_id = ? AND study = ?"),
      insert_run_(database, "INSERT INTO runs(run_id, study) VALUES(?,?)"),
      find_point_(database, "SELECT id FROM points WHERE point_id = ?"),
      insert_point_(database,
                    "INSERT INTO points(point_id, task, model, backend, device, precision, batch, scenario, threads, json) "
                    "VALUES(?,?,?,?,?,?,?,?,?,?)"),
      find_environment_(database, "SELECT id FROM environments WHERE hash = ?"),
      insert_environment_(database, "INSERT INTO environments(hash, json) VALUES(?,?)"),
      find_settings_(database, "SELECT id FROM settings WHERE hash = ?"),
      insert_settings_(database, "INSERT INTO settings(hash, json) VALUES(?,?)"),
      find_metric_(database, "SELECT id FROM metric_names WHERE name = ?"),
      insert_metric_name_(database, "INSERT INTO metric_names(name) VALUES(?)") {}

template <typename Find, typename Insert>
int64_t RecordWriter::find_or_insert(const std::string& key, SqlStatement& find, const Find& bind_find, SqlStatement& insert,
                                     const Insert& bind_insert) {
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  bind_find(find);
  std::optional<int64_t> id;
  if (find.step()) id = find.integer(0);
  find.reset();
  if (!id) {
    bind_insert(insert);
    insert.run();
    id = database_.last_insert_id();
  }
  known_.emplace(key, *id);
  return *id;
}

int64_t RecordWriter::shared_json(char table, SqlStatement& find, SqlStatement& insert, const std::string& json) {
  const std::string hash = content_hash(json);
  return find_or_insert(
      table + hash, find, [&](SqlStatement& s) { s.bind(0, hash); }, insert, [&](SqlStatement& s) { s.bind(0, hash).bind(1, json); });
}

int64_t RecordWriter::run_of(const Record& record) {
  const auto bind = [&](SqlStatement& s) { s.bind(0, record.run_id).bind(1, record.study); };
  return find_or_insert("r" + record.run_id + "/" + record.study, find_run_, bind, insert_run_, bind);
}

int64_t RecordWriter::point_of(const Record& record) {
  const Point& point = record.point;
  const std::string id = point_id(point);
  return find_or_insert(
      "p" + id, find_point_, [&](SqlStatement& s) { s.bind(0, id); }, insert_point_,
      [&](SqlStatement& s) {
        s.bind(0, id)
            .bind(1, std::string(name_of(point.task)))
            .bind(2, point.model)
            .bind(3, point.backend)
            .bind(4, placement_name(point.placement));
        s.bind(5, name_of(point.precision)).bind(6, point.batch).bind(7, point.scenario).bind(8, int64_t{point.threads});
        s.bind(9, dump_line(point_to_json(point)));
      });
}

int64_t RecordWriter::metric_of(const std::string& name) {
  const auto bind = [&](SqlStatement& s) { s.bind(0, name); };
  return find_or_insert("m" + name, find_metric_, bind, insert_metric_name_, bind);
}

void RecordWriter::write(const Record& record, const Blocks& blocks) {
  const nlohmann::json header = record_to_json(record);
  nlohmann::json environment = nlohmann::json::object(), momentary = nlohmann::json::object();
  for (const auto& [key, fact] : header.at("environment").items()) (is_momentary(key) ? momentary : environment)[key] = fact;
  SqlStatement& s = insert_record_;
  s.bind(0, text_of(header, "record_id")).bind(1, run_of(record)).bind(2, point_of(record));
  s.bind(3, shared_json('e', find_environment_, insert_environment_, dump_line(environment)));
  s.bind(4, shared_json('s', find_settings_, insert_settings_, dump_line(settings_json(record, header))));
  s.bind(5, int64_t{record.repeat}).bind(6, int64_t{record.sweep}).bind(7, text_of(header, "tenant")).bind(8, int64_t{record.rank});
  s.bind(9, record.started_unix_ns).bind(10, name_of(record.outcome)).bind(11, name_of(record.verdict));
  s.bind(12, text_of(header, "reason")).bind(13, int64_t{record.unchecked});
  s.bind(14, record.load_s).bind(15, record.compile_s).bind(16, record.first_result_ms);
  s.bind(17, record.device_memory.reserved_bytes).bind(18, record.device_memory.in_use_bytes).bind(19, record.device_memory.peak_bytes);
  s.bind(20, record.host_memory_peak_bytes).bind(21, record.warmup_queries);
  s.bind(22, blocks.timing_count).bind(23, record.timings_dropped);
  bind_check(s, 24, record.check);
  s.bind(32, windows_text(record.windows)).bind(33, dump_line(header.at("facts")));
  s.bind(34, momentary.empty() ? std::string() : dump_line(momentary)).bind(35, text_of(header, "stderr_tail"));
  s.run();
  const int64_t row = database_.last_insert_id();
  for (const auto& [name, estimate] : record.estimates) {
    insert_metric_.bind(0, row).bind(1, metric_of(name)).bind(2, estimate.value).bind(3, estimate.low).bind(4, estimate.high);
    insert_metric_.bind(5, estimate.n).run();
  }
  for (const AnnotationKind kind : annotation_kinds)
    for (const std::string& text : texts_of(record.annotations, kind))
      insert_annotation_.bind(0, row).bind(1, name_of(kind)).bind(2, text).run();
  if (!blocks.profile.empty()) insert_profile_.bind(0, row).bind_blob(1, blocks.profile).run();
  if (blocks.timings.empty() && blocks.series.empty()) return;
  insert_blocks_.bind(0, row);
  blocks.timings.empty() ? insert_blocks_.bind_null(1) : insert_blocks_.bind_blob(1, blocks.timings);
  blocks.series.empty() ? insert_blocks_.bind_null(2) : insert_blocks_.bind_blob(2, blocks.series);
  insert_blocks_.run();
}

}  // namespace deepgap
