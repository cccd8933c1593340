// deepgap import: what others measured, or deepgap exported, as Records in a Store.
#include "analysis/words.h"
#include "base/console.h"
#include "base/file.h"
#include "base/text.h"
#include "base/words.h"
#include "cli/command.h"
#include "published/import_csv.h"
#include "store/store.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <unordered_set>

namespace deepgap {
namespace {

class ImportCommand final : public Command {
 public:
  std::string name() const override { return "import"; }
  std::string describe() const override { return "Read published tables into a Store, and say where they contradict themselves"; }
  std::string examples() const override {
    return "  deepgap import csv table.csv --mapping map.toml     a published table; map.toml says what its columns mean\n"
           "  deepgap import csv studies/published/v100_p100_cost.csv   one of the studies', known by its columns\n";
  }

  void declare(CLI::App& app) override {
    app.add_option("format", format_, "csv: a published table")->type_name("csv")->required();
    app.add_option("file", file_, "File to read")->type_name("FILE")->required();
    app.add_option("--source", source_, "Who published it; left out: what the table or the mapping says")->type_name("NAME");
    app.add_option("--mapping", mapping_, "What its columns mean (docs/decide.md); left out: a packed one, or deepgap's own names")
        ->type_name("FILE");
    app.add_option("-o,--output", output_, "Store to add the Records to; left out: the file's name with .db, in the working folder")
        ->type_name("STORE");
    app.add_flag("--json", json_, "Write records (how many) and contradictions as JSON");
  }

  int run() override {
    if (format_ != "csv") throw Error(ErrorKind::usage, unknown_name("format", format_, {"csv"}));
    const CsvTable table = parse_csv(read_text(file_), file_);
    const Mapping mapping = mapping_.empty() ? mapping_for(table.header, file_) : read_mapping(read_text(mapping_), mapping_);
    const Imported imported = import_csv(table, mapping, source_);
    const std::string store = output_.empty() ? std::filesystem::path(file_).stem().string() + ".db" : output_;
    const size_t added = add(imported.records, store);
    for (const std::string& note : imported.notes) say(stderr, fmt::format("deepgap: note: {}\n", printable(note)));
    if (json_) {
      print_json(imported);
    } else {
      print_text(imported, store, added);
    }
    return exit_ok;
  }

 private:
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

  void print_text(const Imported& imported, const std::string& store, size_t added) const {
    fmt::print("{}: {} in {}", file_, count_of(static_cast<int64_t>(added), "record", "records"), store);
    if (added < imported.records.size()) fmt::print(", {} were there already", imported.records.size() - added);
    fmt::print("\n");
    const auto cells = static_cast<int64_t>(imported.contradictions.size());
    fmt::print("{}\n", cells == 0 ? "nothing in it contradicts itself"
                                  : count_of(cells, "cell contradicts", "cells contradict") + " the others of its row:");
    for (const Contradiction& each : imported.contradictions)
      fmt::print("  row {}, {}: printed {:.6g}, expected {:.4g} = {}\n", each.row, each.column, each.printed, each.expected, each.formula);
  }

  static void print_json(const Imported& imported) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Contradiction& each : imported.contradictions)
      list.push_back(
          {{"row", each.row}, {"column", each.column}, {"printed", each.printed}, {"expected", each.expected}, {"formula", each.formula}});
    const nlohmann::ordered_json json{{"records", imported.records.size()}, {"contradictions", list}};
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  }

  std::string format_, file_, source_, mapping_, output_;
  bool json_ = false;
};

const bool registered = Registry<Command>::instance().add("import", [] { return std::make_unique<ImportCommand>(); });

}  // namespace
}  // namespace deepgap
