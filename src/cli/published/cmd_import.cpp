// deepgap import: what others measured, or deepgap exported, as Records in a Store.
#include "analysis/words.h"
#include "base/console.h"
#include "base/dump_json.h"
#include "base/file.h"
#include "base/messages.h"
#include "base/quantity.h"
#include "base/words.h"
#include "cli/command.h"
#include "cli/confined.h"
#include "cli/published/import_profiles.h"
#include "kernels/chip_metrics.h"
#include "kernels/ncu_csv.h"
#include "profile/counted.h"
#include "profile/profile_table.h"
#include "published/import_csv.h"
#include "published/import_deepgap.h"
#include "published/import_telemetry.h"
#include "published/mlperf_table.h"
#include "report/telemetry_table.h"
#include "run/progress.h"
#include "run/text_table.h"
#include "store/store.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <unordered_set>

namespace deepgap {
namespace {

constexpr size_t most_bytes = size_t{1} << 30;  // an export of 100,000 Records has 100 MB

class ImportCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("format", format_,
                   "Kind of input. csv: a published table. deepgap: rows that deepgap export wrote, as CSV or JSON. mlperf: a results "
                   "table of the submission checker, LoadGen's mlperf_log_summary.txt, or the folder tree of a submission. ncu: output of "
                   "ncu --csv, shown as tables and not stored")
        ->type_name("csv|deepgap|mlperf|ncu")
        ->required();
    app.add_option("file", file_, "File to read; for mlperf also a folder")->type_name("FILE");
    app.add_option("--chip", chip_, "Print the ncu command that reads the counters of this GPU (with ncu, without FILE)")
        ->type_name("h100|t4|GA102|...");
    app.add_option("--source", source_, "Name the publisher [default: as the table or the mapping says]")->type_name("NAME");
    app.add_option("--mapping", mapping_, "File that maps columns to metrics [default: a bundled mapping, or deepgap's own names]")
        ->type_name("FILE");
    app.add_option("--set", set_, "Set a value that all rows share and the table lacks: model=resnet50; repeat for more")
        ->type_name("NAME=VALUE");
    app.add_option("--telemetry", telemetry_, "Add the readings that deepgap export --telemetry wrote for these rows")->type_name("FILE");
    app.add_option("--profile", profile_, "Add the profiles that deepgap export --profile wrote for these rows as JSON")->type_name("FILE");
    app.add_option("-o,--output,--store", output_,
                   "Add the records to this store [default: the file's name with .db, in the current folder]")
        ->type_name("STORE");
    app.add_option("--top", top_, "Show the N slowest kernels, with ncu")->type_name("N");
    app.add_flag("--json", json_, "Print JSON: number of records and contradictions; with ncu, families and kernels");
  }

  int run() override {
    if (!chip_.empty()) return show_command();
    const std::vector<std::string> formats{"csv", "deepgap", "mlperf", "ncu"};
    if (std::find(formats.begin(), formats.end(), format_) == formats.end())
      throw Error(ErrorKind::usage, invalid_choice(format_, "FORMAT", formats));
    if (file_.empty()) throw Error(ErrorKind::usage, "deepgap import needs a file to read");
    if (format_ == "ncu") return work_confined({.subject = file_}, [&] { return show_ncu(); });
    const std::string store = output_.empty() ? std::filesystem::path(file_).stem().string() + ".db" : output_;
    return work_confined(limits_of_stores({store, file_, telemetry_, profile_}, store), [&] { return add_to(store); });
  }

 private:
  int show_command() const {
    const auto& cupti = cupti::api();
    const auto chips = supported_chips(cupti);
    const std::string chip = chip_of(chip_, chips);
    if (chip.empty()) throw Error(ErrorKind::usage, invalid_choice(chip_, "--chip", chips));
    fmt::print("{} PROGRAM > kernels.csv\n", ncu_command(wanted_metrics(supported_metrics(cupti, chip))));
    return exit_ok;
  }
  int show_ncu() const {
    const NcuFile file = read_ncu_csv(read_text(file_, most_bytes), file_);
    if (json_)
      fmt::print("{}", dump_indented(counted_json(file, file_)));
    else
      deepgap::print_text(counted_text(file, file_, top_));
    return exit_ok;
  }
  int add_to(const std::string& store) const {
    Imported imported = read();
    const std::map<std::string, std::string> profiles =
        profile_.empty() ? std::map<std::string, std::string>() : read_exported_profiles(read_text(profile_, most_bytes), profile_);
    const size_t added = add(imported.records, store);
    keep(profiles, imported, store);
    for (const std::string& note : imported.notes) say(stderr, fmt::format("deepgap: note: {}\n", printable(note)));
    if (json_) {
      print_json(imported);
    } else {
      print_text(imported, store, added);
    }
    return exit_ok;
  }

  Imported read() const {
    if (format_ == "csv") return read_csv(read_text(file_));
    if (format_ == "mlperf") return read_mlperf();
    const std::string text = read_text(file_, most_bytes);
    refuse_other_forms(text);
    const bool json = text.find_first_not_of(" \t\r\n") != std::string::npos && text[text.find_first_not_of(" \t\r\n")] == '[';
    const CsvTable table = json ? parse_export_json(text, file_) : parse_csv(text, file_);
    if (is_telemetry(table))
      throw Error(ErrorKind::usage,
                  fmt::format("{} has readings but not the rows that they belong to: deepgap import deepgap ROWS.csv --telemetry {}", file_,
                              file_));
    if (json && std::find(table.header.begin(), table.header.end(), "by_operator") != table.header.end())
      throw Error(
          ErrorKind::usage,
          fmt::format("{} has profiles but not the rows that they belong to: deepgap import deepgap ROWS.csv --profile {}", file_, file_));
    Imported imported = import_deepgap(table);
    if (!telemetry_.empty()) {
      const int64_t of_none = add_telemetry(parse_csv(read_text(telemetry_, most_bytes), telemetry_), imported.records);
      if (of_none > 0) imported.notes.push_back(fmt::format("{} readings of {} belong to no record in {}", of_none, telemetry_, file_));
    }
    return imported;
  }
  // Rejects what deepgap export writes besides rows, readings and profiles.
  void refuse_other_forms(const std::string& text) const {
    if (text.starts_with("SQLite format 3"))
      throw Error(ErrorKind::usage,
                  fmt::format("{} is a store, which needs no import: deepgap merge OUT.db {} joins stores", file_, file_));
    if (text.starts_with(telemetry_log_header()))
      throw Error(
          ErrorKind::usage,
          fmt::format("{} is a log without records; deepgap export --telemetry --format csv writes readings that can be imported", file_));
    if (text.starts_with(profile_table_header()))
      throw Error(ErrorKind::usage, fmt::format("{} has a line for each layer, which is only part of a profile; deepgap export --profile "
                                                "--output NAME.json writes all, for deepgap import deepgap ROWS.csv --profile NAME.json",
                                                file_));
  }
  Imported read_csv(const std::string& text) const {
    const CsvTable table = parse_csv(text, file_);
    if (mapping_.empty() && is_export(table)) return import_deepgap(table);
    const Mapping mapping = mapping_.empty() ? mapping_for(table.header, file_) : read_mapping(read_text(mapping_), mapping_);
    return import_csv(table, with_set(mapping), source_);
  }
  Imported read_mlperf() const {
    const CsvTable table = std::filesystem::is_directory(file_) ? mlperf_tree_table(file_) : mlperf_table(read_text(file_), file_);
    Mapping mapping = with_set(mapping_for(table.header, file_));
    mapping.name = "MLPerf";
    if (!mapping.has_column("model") && !mapping.all.contains("model"))
      throw Error(ErrorKind::usage, fmt::format("{} does not name its model: add --set model=NAME", file_));
    return import_csv(table, mapping, source_.empty() ? "mlperf" : source_);
  }
  Mapping with_set(Mapping mapping) const {
    for (const std::string& each : set_) {
      const size_t at = each.find('=');
      if (at == std::string::npos || at == 0)
        throw Error(ErrorKind::usage, fmt::format("invalid value '{}' for --set: expected NAME=VALUE, such as model=resnet50", each));
      if (meaning_of(each.substr(0, at)).kind == Meaning::Kind::number)
        throw Error(ErrorKind::usage, fmt::format("--set {}: this is a result, which must be in the table", each));
      mapping.all[each.substr(0, at)] = each.substr(at + 1);
    }
    return mapping;
  }

  // Records that the Store has already stay as they are: importing twice is importing once.
  static size_t add(const std::vector<Record>& records, const std::string& path) {
    Store store(path, Store::Mode::append);
    std::unordered_set<std::string> known;
    for (const auto& [id, count] : store.timing_counts()) known.insert(id);
    std::vector<Record> fresh;
    std::copy_if(records.begin(), records.end(), std::back_inserter(fresh),
                 [&](const Record& record) { return !known.contains(record.record_id); });
    store.append(fresh);
    return fresh.size();
  }

  static void keep(const std::map<std::string, std::string>& profiles, Imported& imported, const std::string& path) {
    if (profiles.empty()) return;
    std::unordered_set<std::string> known;
    for (const Record& record : imported.records) known.insert(record.record_id);
    Store store(path, Store::Mode::append);
    int64_t of_none = 0;
    for (const auto& [record_id, profile] : profiles) {
      if (known.contains(record_id)) {
        store.keep_profile(record_id, profile);
      } else {
        ++of_none;
      }
    }
    if (of_none > 0)
      imported.notes.push_back(
          fmt::format("{} belong to no record in these rows and were left out", count_of(of_none, "profile is", "profiles are")));
  }

  void print_text(const Imported& imported, const std::string& store, size_t added) const {
    deepgap::print_text(fmt::format("{}: {} in {}", file_, count_of(static_cast<int64_t>(added), "record", "records"), store));
    if (added < imported.records.size()) fmt::print(", {} already present", imported.records.size() - added);
    fmt::print("\n");
    const auto cells = static_cast<int64_t>(imported.contradictions.size());
    fmt::print("{}\n", cells == 0 ? "no contradictions"
                                  : count_of(cells, "cell contradicts", "cells contradict") + " other cells of the same row:");
    for (const Contradiction& each : imported.contradictions)
      print_wrapped(fmt::format("  {} (row {}), {}: printed {}, expected {} = {}\n", each.label, each.row, each.column,
                                short_text(each.printed, 6), short_text(each.expected, 4), each.formula));
  }

  static void print_json(const Imported& imported) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Contradiction& each : imported.contradictions)
      list.push_back(
          {{"row", each.row}, {"column", each.column}, {"printed", each.printed}, {"expected", each.expected}, {"formula", each.formula}});
    const nlohmann::ordered_json json{{"records", imported.records.size()}, {"contradictions", list}};
    fmt::print("{}", dump_indented(json));
  }

  std::string format_, file_, source_, mapping_, telemetry_, profile_, output_, chip_;
  std::vector<std::string> set_;
  size_t top_ = 0;
  bool json_ = false;
};

const bool registered = add_command<ImportCommand>(
    {"import",
     {CommandGroup::data, 3},
     "Read published tables into a store, and report where they contradict themselves",
     "  deepgap import csv table.csv --mapping map.toml     a published table; map.toml maps its columns\n"
     "  deepgap import mlperf summary.txt --set model=resnet50 --set device_name=L4\n"
     "  deepgap import deepgap rows.json                   rows that deepgap export wrote\n"
     "  deepgap import ncu kernels.csv                     counters of Nsight Compute, by kernel family\n"
     "  deepgap import csv studies/published/v100_p100_cost.csv   a bundled table, recognised by its columns\n"});

}  // namespace
}  // namespace deepgap
