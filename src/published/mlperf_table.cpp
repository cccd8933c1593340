#include "published/mlperf_table.h"

#include "base/dump_json.h"
#include "base/file.h"
#include "base/parse_json.h"
#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace deepgap {
namespace {

using Cells = std::map<std::string, std::string>;  // by deepgap's name

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::optional<std::string> scenario_named(const std::string& name) {
  static const std::map<std::string, std::string> names{{"server", "server"},
                                                        {"offline", "offline"},
                                                        {"singlestream", "single-stream"},
                                                        {"multistream", "multi-stream"},
                                                        {"interactive", "interactive"}};
  const auto found = names.find(lower(name));
  return found == names.end() ? std::nullopt : std::optional(found->second);
}

CsvTable table_of(const std::vector<std::pair<int, Cells>>& rows, const std::string& path) {
  CsvTable table{path, {}, {}};
  std::map<std::string, size_t> places;
  for (const auto& [line, cells] : rows) {
    for (const auto& [name, value] : cells) {
      if (places.emplace(name, table.header.size()).second) table.header.push_back(name);
    }
  }
  for (const auto& [line, cells] : rows) {
    CsvRow row{line, std::vector<std::string>(table.header.size())};
    for (const auto& [name, value] : cells) row.cells[places.at(name)] = value;
    table.rows.push_back(std::move(row));
  }
  return table;
}

// "Key : value" a line; of keys that come again (the tail of a log lists the settings) the first counts.
Cells fields_of(const std::string& text) {
  Cells fields;
  for (const std::string& line : split(text, '\n')) {
    const size_t at = line.find(':');
    if (at != std::string::npos) fields.emplace(trim(line.substr(0, at)), trim(line.substr(at + 1)));
  }
  return fields;
}

void put_latency(Cells& row, const Cells& fields, const std::string& key, const std::string& metric) {
  const auto found = fields.find(key + " latency (ns)");
  const auto ns = found == fields.end() ? std::nullopt : parse_double(found->second);
  if (ns) row[metric] = fmt::format("{}", *ns / 1e6);
}

Cells summary_cells(const std::string& text, const std::string& path) {
  const Cells fields = fields_of(text);
  const auto of = [&](const char* key) {
    const auto found = fields.find(key);
    return found == fields.end() ? std::string() : found->second;
  };
  const auto scenario = scenario_named(of("Scenario"));
  if (!scenario) throw Error(ErrorKind::input, fmt::format("{}: LoadGen's summary names no scenario that is known", path));
  if (of("Mode") != "PerformanceOnly")
    throw Error(ErrorKind::input, fmt::format("{}: a run of mode '{}': only PerformanceOnly has a speed", path, of("Mode")));
  Cells row{{"scenario", *scenario}, {"option.sut", of("SUT name")}, {"verdict", of("Result is") == "VALID" ? "valid" : "invalid"}};
  std::string throughput = *scenario == "server" ? of("Completed samples per second") : of("Samples per second");
  if (throughput.empty()) throughput = of("Scheduled samples per second");  // LoadGen 0.5 prints no other
  if (*scenario == "single-stream") throughput = of("QPS w/ loadgen overhead");
  row["throughput"] = throughput;
  row["offered_rate"] = of("Scheduled samples per second");
  for (const auto& [printed, metric] :
       {std::pair("Min", "min"), std::pair("Max", "max"), std::pair("Mean", "mean"), std::pair("50.00 percentile", "p50"),
        std::pair("90.00 percentile", "p90"), std::pair("95.00 percentile", "p95"), std::pair("99.00 percentile", "p99"),
        std::pair("99.90 percentile", "p999")})
    put_latency(row, fields, printed, fmt::format("latency_{}_ms", metric));
  if (const std::string samples = of("samples_per_query"); *scenario == "single-stream" || *scenario == "multi-stream")
    row["batch"] = samples;
  std::erase_if(row, [](const auto& cell) { return cell.second.empty(); });
  return row;
}

// Finds devices by the fields of a system's description, which the checker's columns have too.
void put_devices(Cells& row, const std::function<std::string(const char*)>& of) {
  const int64_t nodes = parse_int(of("number_of_nodes")).value_or(1), each = parse_int(of("accelerators_per_node")).value_or(0);
  if (each > 0 && !of("accelerator_model_name").empty()) {
    row["device_name"] = of("accelerator_model_name");
    row["device_count"] = std::to_string(nodes * each);
  } else {
    row["device_kind"] = "cpu";
    row["device_name"] = of("host_processor_model_name");
  }
}

// Reads a checker's row by its columns.
class CheckerRow {
 public:
  CheckerRow(const CsvTable& table, const CsvRow& row) : table_(table), row_(row) {}
  std::string of(const char* column) const {
    const auto at = std::find(table_.header.begin(), table_.header.end(), column);
    return at == table_.header.end() ? "" : trim(row_.cells[static_cast<size_t>(at - table_.header.begin())]);
  }

 private:
  const CsvTable& table_;
  const CsvRow& row_;
};

std::string precision_named(const std::string& types) {
  for (const char* known : {"int8", "fp8", "fp4", "fp16", "bf16", "fp32"}) {
    if (lower(types).find(known) != std::string::npos) return known;
  }
  return "";
}

void put_result(Cells& row, const std::string& scenario, const std::string& result, const std::string& units) {
  const std::string unit = lower(units);
  const auto value = parse_double(result);
  const bool latency = unit.empty() ? scenario == "single-stream" || scenario == "multi-stream" : unit.find("latency") != std::string::npos;
  if (value && unit.find("watt") != std::string::npos) {
    row["power_w"] = result;
  } else if (value && unit.find("joule") != std::string::npos) {
    row["metric.energy_j_per_stream"] = result;
  } else if (value && latency) {
    row[scenario == "multi-stream" ? "latency_p99_ms" : "latency_p90_ms"] = result;
  } else {
    row["throughput"] = result;  // where it is no number, import_csv() says so
  }
}

Cells checker_cells(const CheckerRow& checked) {
  const auto scenario = scenario_named(checked.of("Scenario"));
  Cells row{{"scenario", scenario.value_or(checked.of("Scenario"))},
            {"model", checked.of("Model") == "resnet" ? "resnet50" : checked.of("Model")},
            {"backend", checked.of("framework")},
            {"precision", precision_named(checked.of("weight_data_types"))},
            {"option.submitter", checked.of("Organization")},
            {"option.system", checked.of("SystemName")},
            {"option.division", checked.of("Division")},
            {"option.availability", checked.of("Availability")},
            {"option.round", checked.of("version")}};
  put_result(row, row["scenario"], checked.of("Result"), checked.of("Units"));
  put_devices(row, [&](const char* field) { return checked.of(field); });
  std::erase_if(row, [](const auto& cell) { return cell.second.empty(); });
  return row;
}

CsvTable checker_table(const CsvTable& table) {
  for (const char* column : {"Organization", "SystemName", "Model", "Scenario", "Result"}) {
    if (std::find(table.header.begin(), table.header.end(), column) == table.header.end())
      throw Error(ErrorKind::input,
                  fmt::format("{}: neither LoadGen's mlperf_log_summary.txt nor a results table of the submission checker, "
                              "which has a column '{}'",
                              table.path, column));
  }
  std::vector<std::pair<int, Cells>> rows;
  for (const CsvRow& row : table.rows) {
    const CheckerRow checked(table, row);
    rows.emplace_back(row.line, checker_cells(checked));
  }
  return table_of(rows, table.path);
}

}  // namespace

CsvTable mlperf_table(const std::string& text, const std::string& path) {
  if (text.find("MLPerf Results Summary") != std::string::npos) return table_of({{1, summary_cells(text, path)}}, path);
  return checker_table(parse_csv(text, path));
}

namespace {

namespace fs = std::filesystem;

nlohmann::json json_of(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return {};
  return parse_json(read_text(path.string()));
}

std::string field_of(const nlohmann::json& json, const char* name) {
  if (!json.is_object() || !json.contains(name)) return "";
  const auto& value = json.at(name);
  return value.is_string() ? value.get<std::string>() : dump_line(value);
}

// `run`: .../results/SYSTEM/BENCHMARK/SCENARIO/performance/run_1, with systems/SYSTEM.json beside `results`.
Cells run_cells(const fs::path& run) {
  const fs::path scenario = run.parent_path().parent_path(), benchmark = scenario.parent_path(), system = benchmark.parent_path();
  const fs::path root = system.parent_path().parent_path();
  const std::string summary = (run / "mlperf_log_summary.txt").string();
  Cells row = summary_cells(read_text(summary), summary);
  row["model"] = benchmark.filename() == "resnet" ? "resnet50" : benchmark.filename().string();
  row["option.system"] = system.filename().string();
  const nlohmann::json described = json_of(root / "systems" / (system.filename().string() + ".json"));
  put_devices(row, [&](const char* field) { return field_of(described, field); });
  row["backend"] = field_of(described, "framework");
  row["option.submitter"] = field_of(described, "submitter");
  row["option.division"] = field_of(described, "division");
  for (const fs::path& measured : {scenario, root / "measurements" / fs::relative(scenario, system.parent_path())}) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(measured, error)) {
      if (entry.path().extension() != ".json") continue;
      const std::string precision = precision_named(field_of(json_of(entry.path()), "weight_data_types"));
      if (!precision.empty()) row["precision"] = precision;
    }
  }
  std::erase_if(row, [](const auto& cell) { return cell.second.empty(); });
  return row;
}

}  // namespace

CsvTable mlperf_tree_table(const std::string& folder) {
  std::vector<fs::path> runs;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const fs::path run = entry.path().parent_path(), performance = run.parent_path();
    const bool of_audit = performance.parent_path().filename().string().starts_with("TEST0");
    if (entry.path().filename() == "mlperf_log_summary.txt" && performance.filename() == "performance" && !of_audit) runs.push_back(run);
  }
  std::sort(runs.begin(), runs.end());
  if (runs.empty())
    throw Error(ErrorKind::input,
                fmt::format("{} holds no results/SYSTEM/BENCHMARK/SCENARIO/performance/run_1/mlperf_log_summary.txt", folder));
  std::vector<std::pair<int, Cells>> rows;
  for (const fs::path& run : runs) rows.emplace_back(static_cast<int>(rows.size()) + 1, run_cells(run));
  return table_of(rows, folder);
}

}  // namespace deepgap
