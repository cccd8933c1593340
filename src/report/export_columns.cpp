// The columns: deepgap's own in the order scripts rely on, those of DEEP-GAP and GDEV-AI, then any further metric.
#include "report/export_table.h"

#include "base/text.h"
#include "base/words.h"
#include "record/fact_values.h"
#include "record/latency_percentiles.h"
#include "record/load_axis.h"
#include "record/published.h"
#include "record/record_json.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <iterator>

namespace deepgap {
namespace {

Cell text(const std::string& value) {
  if (value.empty()) return {};
  return value;
}
Cell number(double value) {
  if (!std::isfinite(value)) return {};
  return value;
}
template <typename T>
Cell optional(const std::optional<T>& value) {
  if (!value) return {};
  if constexpr (std::is_same_v<T, double>) {
    return number(*value);
  } else {
    return *value;
  }
}
Cell positive(int64_t value) {
  if (value <= 0) return {};
  return value;
}

// 2026-11-21T07:15:00.250Z
Cell timestamp(int64_t unix_ns) {
  if (unix_ns == 0) return {};
  const int64_t ms = unix_ns / 1'000'000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(ms / 1000)), ms % 1000);
}

ExportColumn of_record(std::string name, std::function<Cell(const Record&)> cell) {
  return {std::move(name), [cell = std::move(cell)](const ExportRow& row) { return cell(*row.record); }};
}

// Makes a column that a single Record has and a Point, being several, has not.
ExportColumn of_one(std::string name, std::function<Cell(const Record&)> cell) {
  return {std::move(name), [cell = std::move(cell)](const ExportRow& row) { return row.of_point ? Cell() : cell(*row.record); }};
}

enum class Part { value, low, high };

Cell estimate(const Record& record, const std::string& id, Part part) {
  const auto found = record.estimates.find(id);
  if (found == record.estimates.end()) return {};
  if (part == Part::value) return number(found->second.value);
  return optional(part == Part::low ? found->second.low : found->second.high);
}

ExportColumn metric(const std::string& id) {
  return of_record(id, [id](const Record& r) { return estimate(r, id, Part::value); });
}

// A metric that the Record also holds itself: a Record that failed early has no metrics, but may have got that far.
ExportColumn metric_or(const std::string& id, std::function<Cell(const Record&)> own) {
  return {id, [id, own = std::move(own)](const ExportRow& row) {
            const Cell cell = estimate(*row.record, id, Part::value);
            return cell.index() != 0 || row.of_point ? cell : own(*row.record);
          }};
}

// A fact of the machine, unless it says that it is not available.
ExportColumn environment(std::string name, const std::string& key) {
  return {std::move(name), [key](const ExportRow& row) -> Cell {
            const auto found = row.environment->find(key);
            if (found == row.environment->end()) return {};
            const auto* said = std::get_if<std::string>(&found->second);
            if (said != nullptr) return said->starts_with("not available") ? Cell() : text(*said);
            return std::visit([](const auto& value) { return Cell(value); }, found->second);
          }};
}

Cell joined(const std::set<std::string>& texts, std::string_view between) { return text(join({texts.begin(), texts.end()}, between)); }

Cell fact_text(const Record& record, const std::string& key) {
  const auto* said = fact_as<std::string>(record.facts, key);
  return said == nullptr ? Cell() : text(*said);
}

Cell memory_gib(const ExportRow& row) {
  const auto* bytes = fact_as<int64_t>(*row.environment, "memory.total_bytes");
  if (bytes == nullptr) return {};
  return static_cast<double>(*bytes) / (int64_t{1} << 30);
}

// MLPerf's figure per processor. Not kept in Records: it is the Point's throughput over the Point's devices.
Cell throughput_per_device(const ExportRow& row) {
  const Cell throughput = estimate(*row.record, "throughput", Part::value);
  const auto devices = static_cast<double>(row.record->point.placement.devices.size());
  const auto* value = std::get_if<double>(&throughput);
  return value == nullptr || devices == 0 ? Cell() : number(*value / devices);
}

template <typename T>
ExportColumn of_check(std::string name, T CheckResult::*member) {
  return of_record(std::move(name), [member](const Record& r) -> Cell {
    if (!r.check) return {};
    if constexpr (std::is_same_v<T, double>) {
      return number((*r.check).*member);
    } else if constexpr (std::is_same_v<T, std::optional<double>>) {
      return optional((*r.check).*member);
    } else {
      return Cell((*r.check).*member);
    }
  });
}

using Columns = std::vector<ExportColumn>;

void add_point_columns(Columns& c) {
  c.push_back(of_one("record_id", [](const Record& r) { return text(r.record_id); }));
  c.push_back({"point_id", [](const ExportRow& row) { return text(row.point_id); }});
  c.push_back(of_record("task", [](const Record& r) { return text(std::string(name_of(r.point.task))); }));
  c.push_back(of_record("model", [](const Record& r) { return text(r.point.model); }));
  c.push_back(of_record("backend", [](const Record& r) { return text(r.point.backend); }));
  c.push_back(of_record("device", [](const Record& r) { return text(placement_name(r.point.placement)); }));
  c.push_back(of_record("device_count", [](const Record& r) { return Cell(static_cast<int64_t>(r.point.placement.devices.size())); }));
  c.push_back(of_record("precision", [](const Record& r) { return text(std::string(name_of(r.point.precision))); }));
  c.push_back(of_record("batch", [](const Record& r) { return positive(r.point.batch); }));  // a published row may have none
  c.push_back(of_record("scenario", [](const Record& r) { return text(r.point.scenario); }));
  c.push_back(of_record("threads", [](const Record& r) { return Cell(int64_t{r.point.threads}); }));
  c.push_back(of_record("options", [](const Record& r) { return text(options_text(r.point)); }));
  c.push_back(of_one("repeat", [](const Record& r) { return Cell(int64_t{r.repeat} + 1); }));
  c.push_back(of_record("outcome", [](const Record& r) { return text(std::string(name_of(r.outcome))); }));
  c.push_back(
      of_record("verdict", [](const Record& r) { return r.verdict == Verdict::none ? Cell() : text(std::string(name_of(r.verdict))); }));
  c.push_back(of_record("reason", [](const Record& r) { return text(r.reason); }));
}

void add_metric_columns(Columns& c) {
  c.push_back(metric("throughput"));
  c.push_back(of_record("throughput_ci_low", [](const Record& r) { return estimate(r, "throughput", Part::low); }));
  c.push_back(of_record("throughput_ci_high", [](const Record& r) { return estimate(r, "throughput", Part::high); }));
  for (const char* id : {"throughput_median", "latency_mean_ms", "latency_std_ms", "latency_p50_ms", "latency_p90_ms", "latency_p99_ms"}) {
    c.push_back(metric(id));
  }
  c.push_back({"timings", [](const ExportRow& row) { return optional(row.timings); }});
  c.push_back(metric_or("load_s", [](const Record& r) { return optional(r.load_s); }));
  c.push_back(metric_or("compile_s", [](const Record& r) { return optional(r.compile_s); }));
  c.push_back(metric_or("first_result_ms", [](const Record& r) { return optional(r.first_result_ms); }));
  for (const char* id : {"device_memory_mib", "host_memory_mib", "power_w", "energy_j_per_item", "items_per_s_per_w"})
    c.push_back(metric(id));
  c.push_back(of_record("flop_per_item", [](const Record& r) { return positive(r.flop_per_item); }));
  c.push_back(of_record("macs_per_item", [](const Record& r) { return positive(r.macs_per_item); }));
  c.push_back(of_record("bytes_per_item", [](const Record& r) { return positive(r.bytes_per_item); }));
  c.push_back(of_record("parameters", [](const Record& r) { return positive(r.parameters); }));
}

// DEEP-GAP and GDEV-AI write these with every row.
void add_protocol_columns(Columns& c) {
  c.push_back(of_record("timestamp", [](const Record& r) { return timestamp(r.started_unix_ns); }));
  c.push_back(of_record("study", [](const Record& r) { return text(r.study); }));
  c.push_back(of_one("sweep", [](const Record& r) { return Cell(int64_t{r.sweep}); }));
  c.push_back({"iterations", [](const ExportRow& row) -> Cell {
                 if (!row.timings || row.of_point || row.record->outcome != Outcome::ok) return {};
                 return *row.timings + row.record->timings_dropped;
               }});
  c.push_back(of_one("warmup_iterations", [](const Record& r) { return r.outcome == Outcome::ok ? Cell(r.warmup_queries) : Cell(); }));
  c.push_back(of_record("stopping", [](const Record& r) { return text(r.stopping.name); }));
  c.push_back(environment("host", "host.name"));
  c.push_back(environment("os", "os.name"));
  c.push_back(environment("kernel", "os.kernel"));
  c.push_back(environment("cpu_model", "cpu.model"));
  c.push_back(environment("sockets", "cpu.sockets"));
  c.push_back(environment("cores", "cpu.cores"));
  c.push_back(environment("threads_per_core", "cpu.threads_per_core"));
  c.push_back({"memory_gib", memory_gib});
  c.push_back(of_record("backend_version", [](const Record& r) { return text(r.backend_version); }));
  c.push_back(environment("deepgap_version", "deepgap.version"));
}

void add_interval_columns(const std::string& id, Columns& c) {
  c.push_back(of_record(id + "_ci_low", [id](const Record& r) { return estimate(r, id, Part::low); }));
  c.push_back(of_record(id + "_ci_high", [id](const Record& r) { return estimate(r, id, Part::high); }));
}

bool is_percentile(const std::string& id) {
  return std::any_of(std::begin(latency_percentiles), std::end(latency_percentiles),
                     [&](const NamedPercentile& named) { return latency_metric_id(named.name) == id; });
}

void add_origin_columns(Columns& c) {
  c.push_back(of_one("run_id", [](const Record& r) { return text(r.run_id); }));
  c.push_back(of_record("tenant", [](const Record& r) { return text(r.tenant); }));
  c.push_back(of_record("rank", [](const Record& r) { return Cell(int64_t{r.rank}); }));
  c.push_back(of_record("weights", [](const Record& r) { return text(r.point.weights); }));
  c.push_back(of_record("dataset", [](const Record& r) { return text(r.point.dataset); }));
  c.push_back(of_record("dataset_description", [](const Record& r) { return text(r.dataset_description); }));
  c.push_back(of_record("unchecked", [](const Record& r) { return Cell(r.unchecked); }));
  c.push_back(of_record("check_against", [](const Record& r) { return r.check ? text(r.check->against) : Cell(); }));
  c.push_back(of_check("check_samples", &CheckResult::samples));
  c.push_back(of_check("check_max_abs_error", &CheckResult::max_abs_error));
  c.push_back(of_check("check_mean_abs_error", &CheckResult::mean_abs_error));
  c.push_back(of_check("check_sqnr_db", &CheckResult::sqnr_db));
  c.push_back(of_check("check_top1_agreement", &CheckResult::top1_agreement));
  c.push_back(of_check("check_pass", &CheckResult::pass));
  for (const char* id : {"accuracy_top1", "accuracy_top5"}) {
    c.push_back(metric(id));
    c.push_back(of_record(fmt::format("{}_ci_low", id), [id](const Record& r) { return estimate(r, id, Part::low); }));
    c.push_back(of_record(fmt::format("{}_ci_high", id), [id](const Record& r) { return estimate(r, id, Part::high); }));
  }
  c.push_back(of_record("accuracy_samples", [](const Record& r) -> Cell {
    const auto found = r.estimates.find("accuracy_top1");
    return found == r.estimates.end() ? Cell() : Cell(found->second.n);
  }));
  c.push_back(metric("accuracy_loss"));
  c.push_back(of_record("timings_dropped", [](const Record& r) { return Cell(r.timings_dropped); }));
  c.push_back({"repeats", [](const ExportRow& row) { return optional(row.repeats); }});
  c.push_back({"records", [](const ExportRow& row) { return optional(row.records); }});
  c.push_back({"device_name", [](const ExportRow& row) { return text(row.identity.device); }});
  c.push_back({"machine", [](const ExportRow& row) { return text(row.identity.machine); }});
  c.push_back({"throughput_per_device", throughput_per_device});
  for (const char* id : {"cost_per_hour", "cost_per_1000_items", "cost_of_run"}) c.push_back(metric(id));
  for (const Part part : {Part::low, Part::high}) {
    c.push_back(of_record(part == Part::low ? "cost_per_1000_items_ci_low" : "cost_per_1000_items_ci_high",
                          [part](const Record& r) { return estimate(r, "cost_per_1000_items", part); }));
  }
  c.push_back(metric("throughput_ratio"));
  c.push_back(of_record("throughput_ratio_ci_low", [](const Record& r) { return estimate(r, "throughput_ratio", Part::low); }));
  c.push_back(of_record("throughput_ratio_ci_high", [](const Record& r) { return estimate(r, "throughput_ratio", Part::high); }));
  c.push_back(of_record("unit", [](const Record& r) { return text(unit_of_work(r)); }));
  c.push_back(of_record("refused_by", [](const Record& r) { return fact_text(r, "refused.by"); }));
  c.push_back(of_record("refused_at", [](const Record& r) { return fact_text(r, "refused.at"); }));
  c.push_back({"node", [](const ExportRow& row) { return text(row.node); }});
  c.push_back({"nodes", [](const ExportRow& row) { return optional(row.nodes); }});
  c.push_back(of_record("model_hash", [](const Record& r) { return text(r.point.model_hash); }));
  c.push_back(of_record("published_source", [](const Record& r) { return text(publisher_of(r.point)); }));
  c.push_back(of_record("stderr_tail", [](const Record& r) { return r.stderr_tail.empty() ? Cell() : text(printable(r.stderr_tail)); }));
  c.push_back(of_record("tags", [](const Record& r) { return joined(r.annotations.tags, ";"); }));
  c.push_back(of_record("notes", [](const Record& r) { return joined(r.annotations.notes, "; "); }));
  c.push_back(of_record("currency", [](const Record& r) { return fact_text(r, published_currency_fact); }));
  for (const char* id : {"latency_p50_ms", "latency_p90_ms", "latency_p99_ms"}) add_interval_columns(id, c);
}

}  // namespace

std::vector<ExportColumn> export_columns(const std::vector<std::string>& metric_ids) {
  Columns columns;
  add_point_columns(columns);
  add_metric_columns(columns);
  add_protocol_columns(columns);
  add_origin_columns(columns);
  std::vector<std::string> others = metric_ids;
  std::sort(others.begin(), others.end());
  others.erase(std::unique(others.begin(), others.end()), others.end());
  for (const std::string& id : others) {
    const auto same = [&](const ExportColumn& column) { return column.name == id; };
    if (std::any_of(columns.begin(), columns.end(), same)) continue;
    columns.push_back(metric(id));
    if (is_percentile(id)) add_interval_columns(id, columns);
  }
  return columns;
}

}  // namespace deepgap
