// `deepgap export`: a Store as CSV or JSON, or as a smaller or anonymous Store.
#include "analysis/metric.h"
#include "base/console.h"
#include "base/dump_json.h"
#include "base/messages.h"
#include "base/text.h"
#include "cli/baseline_flag.h"
#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/confined.h"
#include "cli/export_form.h"
#include "cli/export_output.h"
#include "cli/export_rows.h"
#include "cli/price_flag.h"
#include "cli/selection_flags.h"
#include "cli/stores.h"
#include "cli/timings_output.h"
#include "profile/profile_table.h"
#include "record/record_json.h"
#include "report/telemetry_table.h"
#include "store/store.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

namespace deepgap {
namespace {

constexpr double committable_bytes = 5e6;

class ExportCommand final : public Command {
 public:
  void declare(CLI::App& app) override;
  Features features() const override;
  int run() override;

 private:
  std::string chosen_format() const;
  void check_output() const;
  void write(const std::string& format) const;
  void write_telemetry(bool log) const;
  void write_profiles(bool json) const;
  void write_store() const;

  SelectionFlags which_;
  Selection selection_;
  std::vector<std::string> stores_;
  std::string prices_, baseline_, percentiles_, format_, by_ = "record", output_;
  std::map<std::string, std::unique_ptr<ExportForm>> forms_;  // by the value of --format
  bool telemetry_ = false, timings_ = false, profile_ = false, anonymous_ = false, compact_ = false, recompute_ = false;
};

void ExportCommand::declare(CLI::App& app) {
  std::string of_features;
  const auto& registry = Registry<ExportForm>::instance();
  for (const std::string& name : registry.names()) {
    const auto& form = forms_.emplace(name, registry.make("form", name)).first->second;
    of_features += fmt::format("{} ({}), ", name, form->describe());
  }
  app.add_option("store", stores_, "Read these stores; several give the rows of all")->required()->type_name("STORE");
  app.add_option(
         "--format", format_,
         fmt::format("Output format: csv, json, db (a store), {}or log (with --telemetry) [default: by the name of --output, else csv]",
                     of_features))
      ->type_name("FORMAT");
  app.add_option("--by", by_, "Write a row for each record (interval within the run) or point (interval over its repeats)")
      ->type_name("record|point")
      ->capture_default_str();
  app.add_option("--percentile", percentiles_,
                 "Add columns of latency at these percentiles: 90,95,99.9. Percentiles that are not metrics are computed from the timings, "
                 "which a compact store does not have")
      ->type_name("P,P...");
  app.add_option("-o,--output", output_, "Write to FILE [default: standard output]")->type_name("FILE");
  for (const auto& [name, form] : forms_) form->declare(app);
  declare_prices(app, prices_);
  declare_baseline(app, baseline_);
  app.add_flag("--telemetry", telemetry_,
               "Write the readings of the probes, one a line: time, device, name, unit, value. With --format log: one line a second and "
               "GPU, as DEEP-GAP logs do");
  app.add_flag("--timings", timings_,
               "Write a row for each timed query, as csv or json: due, issued and done in ns from the beginning of the measured window, "
               "latency, samples, status");
  app.add_flag("--profile", profile_, "Write the profiles that run --profile kept: csv with a line for each layer, or json");
  app.add_flag("--anonymous", anonymous_, "Leave out host names, serial numbers, user names and paths");
  app.add_flag("--compact", compact_, "Write a store without raw timings, small enough to commit");
  app.add_flag("--recompute", recompute_, "Write a store whose metrics are computed again from its timings and series");
  which_.declare(app);
}

std::string ExportCommand::chosen_format() const {
  if (!format_.empty()) {
    std::vector<std::string> known{"csv", "json", "db"};
    for (const auto& [name, form] : forms_) known.push_back(name);
    known.emplace_back("log");
    if (std::find(known.begin(), known.end(), format_) == known.end()) {
      refuse_left_out("--format=" + format_);
      throw Error(ErrorKind::usage, invalid_choice(format_, "--format", known));
    }
    return format_;
  }
  const std::string ending = std::filesystem::path(output_).extension().string();
  if (telemetry_) return ending == ".log" ? "log" : "csv";
  return compact_ || recompute_ || ending == ".db" ? "db" : ending == ".json" ? "json" : "csv";
}

Features ExportCommand::features() const {
  Features features = given;
  const std::string format = chosen_format();
  features.emplace("format=" + format, "--format " + format);
  if (stores_.size() > 1) features.emplace("several stores", "");
  return features;
}

void ExportCommand::check_output() const {
  if (by_ != "record" && by_ != "point") throw Error(ErrorKind::usage, invalid_choice(by_, "--by", {"record", "point"}));
  std::error_code ignored;
  for (const std::string& store : stores_) {
    if (!output_.empty() && std::filesystem::equivalent(output_, store, ignored))
      throw Error(ErrorKind::usage, fmt::format("--output {} is the store itself: name another file", output_));
  }
}

// Record by Record, so that large Stores cost no memory. Readings hold no names.
void ExportCommand::write_telemetry(bool log) const {
  ExportOutput output(output_);
  output.write(log ? telemetry_log_header() : telemetry_header());
  bool any = false;
  look_at_selected(stores_, selection_, anonymous_, [&](const Store& store, const Record& each) {
    Record record = each;
    record.series = store.series(record.record_id);
    const std::string text = log ? telemetry_log(record) : telemetry_rows(record);
    any = any || !text.empty();
    output.write(text);
  });
  output.finish();
  if (any) return;
  say(stderr, fmt::format("deepgap: note: {} has no {}\n", store_names(stores_),
                          log ? "readings of a GPU" : "readings: a compact copy leaves them out"));
}

// One after the other; a Store has few.
void ExportCommand::write_profiles(bool json) const {
  ExportOutput output(output_);
  if (!json) output.write(profile_table_header());
  std::map<const Store*, std::set<std::string>> profiled;
  nlohmann::json list = nlohmann::json::array();
  bool any = false;
  look_at_selected(stores_, selection_, anonymous_, [&](const Store& store, const Record& record) {
    const auto [ids, is_new] = profiled.try_emplace(&store);
    if (is_new) ids->second = store.profiled();
    if (!ids->second.contains(record.record_id)) return;
    any = true;
    StoredProfile stored =
        parse_stored_profile(anonymous_ ? anonymous_profile(store.profile(record.record_id)) : store.profile(record.record_id));
    stored.header.model = record.point.model;
    const ProfileOwner owner{record.record_id, point_id(record.point), record.point.model, record.point.backend};
    if (json) {
      list.push_back(owned_profile_json(owner, stored));
    } else {
      output.write(profile_table_rows(owner, stored));
    }
  });
  if (json) output.write(dump_indented(list));
  output.finish();
  if (!any) say(stderr, fmt::format("deepgap: note: {} has no profiles; measure with deepgap run --profile\n", store_names(stores_)));
}

void ExportCommand::write_store() const {
  CopyOptions options{.compact = compact_, .anonymous = anonymous_, .wanted = {}, .revise = recompute_ ? recompute_metrics : nullptr};
  if (!selection_.empty()) {
    look_at_selected(stores_, selection_, false, [](const Store&, const Record&) {});  // refuses an empty one before a file is made
    options.wanted = [&](const Record& record) { return selection_.holds(record); };
  }
  copy_store(stores_.front(), output_, options);
  const auto bytes = static_cast<double>(std::filesystem::file_size(output_));
  if (compact_ && bytes > committable_bytes) {
    say(stderr, fmt::format("deepgap: note: {} has {}, more than the 5 MB that are reasonable to commit\n", output_, format_bytes(bytes)));
  }
}

int ExportCommand::run() {
  const std::string format = chosen_format();
  check_output();
  selection_ = which_.selection();
  return work_confined(limits_of_stores(stores_, output_), [&] {
    write(format);
    return exit_ok;
  });
}

void ExportCommand::write(const std::string& format) const {
  if (profile_) {
    write_profiles(format == "json");
  } else if (timings_) {
    write_timings({stores_, selection_, anonymous_, ""}, format == "json", output_);
  } else if (telemetry_) {
    write_telemetry(format == "log");
  } else if (format == "db") {
    write_store();
  } else if (const auto form = forms_.find(format); form != forms_.end()) {
    form->second->write(stores_, selection_, output_);
  } else {
    const ExportRows rows{stores_, selection_, anonymous_, by_ == "point", percentiles_, prices_, baseline_};
    write_export_rows(rows, format == "json" ? ExportFormat::json : ExportFormat::csv, output_);
  }
}

const bool registered =
    add_command<ExportCommand>({"export",
                                {CommandGroup::data, 2},
                                "Write stores as CSV or JSON, or one store as a smaller or anonymous one",
                                "  deepgap export deepgap.db -o records.csv\n"
                                "  deepgap export deepgap.db --by point --format json\n",
                                {"--output", "--format", "--by", "--percentile", "--telemetry", "--profile", "--compact", "--anonymous"}});

}  // namespace
}  // namespace deepgap
