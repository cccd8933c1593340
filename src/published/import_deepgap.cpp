#include "published/import_deepgap.h"

#include "base/dump_json.h"
#include "base/hash.h"
#include "base/parse_json.h"
#include "base/text.h"
#include "published/export_time.h"
#include "published/exported_row.h"
#include "record/averaged.h"
#include "record/identity.h"
#include "record/latency_percentiles.h"
#include "record/published.h"
#include "record/record_json.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <set>

namespace deepgap {
namespace {

// "a=1;b=2". A value may hold ';' itself, as in "with=x;y": a part without '=' belongs to the one before.
std::map<std::string, std::string> options_from(const std::string& text) {
  std::map<std::string, std::string> options;
  std::string* last = nullptr;
  if (text.empty()) return options;
  for (const std::string& part : split(text, ';')) {
    const size_t at = part.find('=');
    if (at == std::string::npos && last != nullptr) {
      *last += ";" + part;
    } else {
      last = &(options[part.substr(0, at)] = at == std::string::npos ? "" : part.substr(at + 1));
    }
  }
  return options;
}

Point point_from(ExportedRow& row) {
  Point point;
  point.task = row.named("task", task_from, "a task such as infer");
  point.model = row.text("model");
  point.model_hash = row.text("model_hash");
  point.backend = row.text("backend");
  point.placement = row.named("device", placement_from, "a placement such as cpu or cuda:0");
  point.precision = row.named("precision", precision_from, "a precision such as fp32");
  point.batch = row.whole("batch").value_or(0);
  point.scenario = row.text("scenario");
  point.threads = static_cast<int>(row.whole("threads").value_or(0));
  point.options = options_from(row.text("options"));
  point.weights = row.text("weights");
  point.dataset = row.text("dataset");
  return point;
}

int64_t time_from(ExportedRow& row) {
  const std::string text = row.text("timestamp");
  if (text.empty()) return 0;
  const auto time = export_time(text);
  if (!time) row.fail(fmt::format("invalid value '{}' for timestamp: expected a time such as 2026-11-21T07:15:00.250Z", text));
  return *time;
}

void set_text(Facts& facts, const char* key, const std::string& value) {
  if (!value.empty()) facts[key] = value;
}
void set_whole(Facts& facts, const char* key, const std::optional<int64_t>& value) {
  if (value) facts[key] = *value;
}

// "X (family 6 model 207), 16 CPUs": what identity_of() would make that name of.
void set_cpu(Facts& facts, const std::string& device) {
  const size_t comma = device.rfind(", ");
  const auto count = comma == std::string::npos ? std::nullopt : parse_int(split(device.substr(comma + 2), ' ').front());
  if (!count || *count < 1 || *count > 100'000) return;
  std::vector<std::string> cpus;
  for (int64_t i = 0; i < *count; ++i) cpus.push_back(std::to_string(i));
  facts["cpus.allowed"] = join(cpus, ",");
}

void set_family(Facts& facts, const std::string& name) {
  const size_t at = name.find("(family ");
  int family = 0, model = 0;
  if (at == std::string::npos || std::sscanf(name.c_str() + at, "(family %d model %d)", &family, &model) != 2) return;
  facts["cpu.family"] = int64_t{family};
  facts["cpu.model_number"] = int64_t{model};
}

std::vector<std::string> names_of(const std::string& device) {
  std::vector<std::string> names;
  size_t from = 0;
  for (size_t at = device.find(" + "); at != std::string::npos; at = device.find(" + ", from)) {
    names.push_back(device.substr(from, at - from));
    from = at + 3;
  }
  names.push_back(device.substr(from));
  return names;
}

Facts environment_from(ExportedRow& row, const Placement& placement) {
  Facts facts;
  set_text(facts, "host.name", row.text("host"));
  set_text(facts, "os.name", row.text("os"));
  set_text(facts, "os.kernel", row.text("kernel"));
  set_text(facts, "cpu.model", row.text("cpu_model"));
  set_text(facts, "deepgap.version", row.text("deepgap_version"));
  set_whole(facts, "cpu.sockets", row.whole("sockets"));
  set_whole(facts, "cpu.cores", row.whole("cores"));
  set_whole(facts, "cpu.threads_per_core", row.whole("threads_per_core"));
  if (const auto gib = row.number("memory_gib")) facts["memory.total_bytes"] = std::llround(*gib * (int64_t{1} << 30));
  const std::string device = row.text("device_name"), machine = row.text("machine");
  set_family(facts, machine);
  if (device.empty()) return facts;
  const std::vector<std::string> names = names_of(device);
  for (size_t i = 0; i < placement.devices.size(); ++i) {
    const DeviceId& id = placement.devices[i];
    if (id.kind == "cpu") {
      set_cpu(facts, device);
      set_family(facts, device);
    } else {
      facts[fmt::format("gpu.{}{}.name", id.kind, id.index)] = names[std::min(i, names.size() - 1)];
    }
  }
  return facts;
}

void set_check(ExportedRow& row, Record& record) {
  CheckResult check;
  check.against = row.text("check_against");
  check.samples = row.whole("check_samples").value_or(0);
  check.max_abs_error = row.number("check_max_abs_error").value_or(0);
  check.mean_abs_error = row.number("check_mean_abs_error").value_or(0);
  check.sqnr_db = row.number("check_sqnr_db").value_or(0);
  check.top1_agreement = row.number("check_top1_agreement");
  const std::string pass = row.text("check_pass");
  check.pass = pass == "true";
  if (!pass.empty()) record.check = check;
}

void set_metric(ExportedRow& row, Record& record, const std::string& id, int64_t n = 0) {
  const auto value = row.number(id);
  const auto low = row.number(id + "_ci_low"), high = row.number(id + "_ci_high");
  if (value) record.estimates[id] = {*value, low, high, n};
}

// Splits a text that an export joined from a set, in order. A text with the separator in it stays in one, mostly: the order shows it.
std::set<std::string> set_from(const std::string& text, std::string_view between) {
  std::set<std::string> parts;
  for (size_t from = 0; !text.empty();) {
    const size_t at = text.find(between, from);
    const std::string part = text.substr(from, at == std::string::npos ? at : at - from);
    if (part.empty() || (!parts.empty() && part <= *parts.rbegin())) return {text};
    parts.insert(part);
    if (at == std::string::npos) break;
    from = at + between.size();
  }
  return parts;
}

// Sets what a row says about Records that are not in it (record/averaged.h).
void set_average(ExportedRow& row, Record& record) {
  const auto repeats = row.whole("repeats"), records = row.whole("records"), nodes = row.whole("nodes");
  set_whole(record.facts, averaged_repeats_fact, repeats);
  set_whole(record.facts, averaged_records_fact, records);
  set_whole(record.facts, averaged_nodes_fact, nodes);
  if (const std::string machine = row.text("machine"); machine.find("; ") != std::string::npos)
    record.facts[averaged_machines_fact] = machine;
  record.point.options.emplace(averaged_option, "on");
}

template <typename T>
T named(ExportedRow& row, const std::string& column, std::optional<T> (*from)(std::string_view), T otherwise) {
  const std::string name = row.text(column);
  if (name.empty()) return otherwise;
  const auto value = from(name);
  if (!value) row.fail(fmt::format("{}: unknown value '{}'", column, name));
  return *value;
}

void set_measured(ExportedRow& row, Record& record) {
  record.load_s = row.number("load_s");
  record.compile_s = row.number("compile_s");
  record.first_result_ms = row.number("first_result_ms");
  for (const auto& [id, value] : {std::pair("load_s", record.load_s), std::pair("compile_s", record.compile_s),
                                  std::pair("first_result_ms", record.first_result_ms)}) {
    if (value && record.outcome == Outcome::ok) record.estimates[id] = {*value, {}, {}, 1};
  }
  record.flop_per_item = row.whole("flop_per_item").value_or(0);
  record.macs_per_item = row.whole("macs_per_item").value_or(0);
  record.bytes_per_item = row.whole("bytes_per_item").value_or(0);
  record.parameters = row.whole("parameters").value_or(0);
  record.warmup_queries = row.whole("warmup_iterations").value_or(0);
  record.timings_dropped = row.whole("timings_dropped").value_or(0);
  set_check(row, record);
  const int64_t samples = row.whole("accuracy_samples").value_or(0);
  set_metric(row, record, "accuracy_top1", samples);
  set_metric(row, record, "accuracy_top5", samples);
  const auto timings = row.whole("timings");
  if (timings) record.estimates["timings"] = {static_cast<double>(*timings), {}, {}, *timings};
  set_metric(row, record, "throughput", timings.value_or(0));
  for (const NamedPercentile& named : latency_percentiles) set_metric(row, record, latency_metric_id(named.name), timings.value_or(0));
  set_metric(row, record, "cost_per_1000_items");
  set_metric(row, record, "throughput_ratio");
}

class ExportReader {
 public:
  explicit ExportReader(const CsvTable& table) : table_(table) {}

  Imported read() {
    for (const CsvRow& each : table_.rows) add(each);
    if (by_point_ > 0)
      imported_.notes.push_back(
          fmt::format("{} rows are of points, averages over repeats that are not in them: their option '{}' says so; "
                      "export --by record keeps the repeats",
                      by_point_, averaged_option));
    if (!unread_.empty())
      imported_.notes.push_back(fmt::format("not read, because they are not numbers: {}", join({unread_.begin(), unread_.end()}, ", ")));
    if (other_points_ > 0)
      imported_.notes.push_back(
          fmt::format("{} rows have another point_id than their settings give: an older export, or somebody changed them", other_points_));
    return std::move(imported_);
  }

 private:
  void add(const CsvRow& cells) {
    ExportedRow row(table_, cells);
    Record record;
    record.point = point_from(row);
    record.record_id = row.text("record_id");
    record.repeat = static_cast<int>(row.whole("repeat").value_or(1)) - 1;
    record.outcome = named(row, "outcome", outcome_from, Outcome::ok);
    record.verdict = named(row, "verdict", verdict_from, Verdict::none);
    record.reason = row.text("reason");
    record.started_unix_ns = time_from(row);
    record.study = row.text("study");
    record.sweep = static_cast<int>(row.whole("sweep").value_or(0));
    record.stopping.name = row.text("stopping");
    record.backend_version = row.text("backend_version");
    record.run_id = row.text("run_id");
    record.tenant = row.text("tenant");
    record.rank = static_cast<int>(row.whole("rank").value_or(0));
    record.dataset_description = row.text("dataset_description");
    record.unchecked = row.yes("unchecked");
    record.stderr_tail = row.text("stderr_tail");
    for (const auto& [fact, column] :
         {std::pair("unit", "unit"), std::pair("refused.by", "refused_by"), std::pair("refused.at", "refused_at")})
      set_text(record.facts, fact, row.text(column));
    record.environment = environment_from(row, record.point.placement);
    if (const std::string node = row.text("node"); node != row.text("host")) set_text(record.facts, fleet_node_fact, node);
    set_measured(row, record);
    set_text(record.facts, published_currency_fact, row.text("currency"));
    record.annotations = {set_from(row.text("tags"), ";"), set_from(row.text("notes"), "; ")};
    set_rest(row, record);
    const bool by_point = record.record_id.empty();
    if (by_point || is_averaged(record.point)) set_average(row, record);
    if (by_point) record.record_id = id_of(cells, record.point);
    const auto [first, is_new] = lines_.emplace(record.record_id, cells.line);
    if (!is_new) row.fail(fmt::format("it is the record of line {} again", first->second));
    by_point_ += by_point ? 1 : 0;
    imported_.records.push_back(std::move(record));
  }

  // Passes over what other fields hold already; everything else is a metric.
  void set_rest(ExportedRow& row, Record& record) {
    for (const char* derived : {"device_count", "iterations", "repeats", "records", "nodes", "throughput_per_device", "published_source"})
      row.text(derived);
    if (const std::string id = row.text("point_id"); !id.empty() && id != point_id(record.point)) ++other_points_;
    for (const std::string& column : row.left()) {
      if (row.took(column)) continue;  // the end of an interval, with its metric
      if (parse_double(row.text(column))) {
        set_metric(row, record, column);
      } else {
        unread_.insert(column);
      }
    }
  }

  // Returns the same id as CSV and as JSON, and for a row that was imported, exported and is imported again, in which only the mark is new.
  std::string id_of(const CsvRow& row, const Point& point) const {
    std::map<std::string, std::string> cells;
    for (size_t i = 0; i < row.cells.size(); ++i) {
      if (!row.cells[i].empty()) cells.emplace(table_.header[i], row.cells[i]);
    }
    cells["point_id"] = point_id(point);
    cells.erase("options");
    Hasher hash;
    for (const auto& [column, cell] : cells) {
      hash.add(column);
      hash.add(cell);
    }
    return hash.digest();
  }

  const CsvTable& table_;
  Imported imported_;
  std::set<std::string> unread_;
  std::map<std::string, int> lines_;  // by record_id
  int64_t by_point_ = 0, other_points_ = 0;
};

std::string cell_of(const nlohmann::json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  return dump_line(value);
}

}  // namespace

bool is_export(const CsvTable& table) {
  constexpr const char* telling[] = {"record_id", "point_id", "device", "outcome", "options"};
  return std::all_of(std::begin(telling), std::end(telling),
                     [&](const char* column) { return std::find(table.header.begin(), table.header.end(), column) != table.header.end(); });
}

CsvTable parse_export_json(const std::string& text, const std::string& path) {
  const nlohmann::json json = parse_json(text);
  const bool fits = json.is_array() && std::all_of(json.begin(), json.end(), [](const auto& row) { return row.is_object(); });
  if (!fits) throw Error(ErrorKind::input, fmt::format("{}: no JSON export: it must be a list of objects", path));
  CsvTable table{path, {}, {}};
  std::map<std::string, size_t> places;
  for (const nlohmann::json& row : json) {
    for (const auto& [column, value] : row.items()) {
      if (places.emplace(column, table.header.size()).second) table.header.push_back(column);
    }
  }
  int number = 0;
  for (const nlohmann::json& row : json) {
    CsvRow cells{++number, std::vector<std::string>(table.header.size())};
    for (const auto& [column, value] : row.items()) cells.cells[places.at(column)] = cell_of(value);
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Imported import_deepgap(const CsvTable& table) {
  if (!is_export(table)) throw Error(ErrorKind::input, fmt::format("{}: these are not the columns of deepgap export", table.path));
  return ExportReader(table).read();
}

}  // namespace deepgap
