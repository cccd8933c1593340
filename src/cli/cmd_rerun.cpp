// `deepgap rerun`: a Record's Point once more, as it was measured then, and what is different now.
#include "analysis/compare/compare_results.h"
#include "analysis/words.h"
#include "base/console.h"
#include "base/messages.h"
#include "base/text.h"
#include "base/words.h"
#include "cli/command.h"
#include "cli/compare_text.h"
#include "cli/rerun_jobs.h"
#include "cli/run_flags.h"
#include "record/record_json.h"
#include "run/progress.h"
#include "run/run_summary.h"
#include "store/store.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

namespace deepgap {
namespace {

constexpr const char* rerun_fact = "rerun.of";
constexpr int most_repeats = 1000;

class RerunCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("record", record_, "record_id of the record, or its beginning (deepgap export)")->type_name("RECORD")->required();
    app.add_option("--from", from_, "Store that has the record")->type_name("STORE")->capture_default_str();
    app.add_option("--repeats", repeats_, "Number of repeats, each in its own process; a comparison needs three on both sides")
        ->type_name("N")
        ->capture_default_str();
    app.add_flag("--json", json_, "Print JSON, as deepgap compare --json does");
    run_flags_.declare(app, "Running");
    app.remove_option(app.get_option("--resume"));
    store_ = app.get_option("--store");
    store_->description("Write the new records to FILE [default: rerun-RECORD.db, with the first eight digits]")->default_str("");
  }
  int run() override;

 private:
  void require_possible(const Study& study, const RunSettings& settings) const;
  void print(const Results& before, const Results& after, const std::string& store) const;

  std::string record_, from_ = "deepgap.db";
  int repeats_ = 1;
  bool json_ = false;
  RunFlags run_flags_;
  CLI::Option* store_ = nullptr;
};

std::vector<Record> records_that(const Store& store, const std::function<bool(const Record&)>& are_meant) {
  std::vector<Record> records;
  store.look([&](const Record& record) {
    if (are_meant(record)) records.push_back(record);
  });
  return records;
}

// Throws before anything is measured if what a Point is hashed from has changed, or it is refused here.
void RerunCommand::require_possible(const Study& study, const RunSettings& settings) const {
  std::set<std::string> wanted;
  for (const Job& job : *settings.part) wanted.insert(job.point_id);
  for (const PlannedPoint& planned : plan_study(study, settings).points) {
    const std::string label = point_label(planned.point);
    if (planned.refused) throw Error(ErrorKind::input, fmt::format("{} cannot be repeated here: {}", label, planned.reason));
    if (!wanted.contains(planned.point_id))
      throw Error(ErrorKind::input, fmt::format("{} cannot be repeated: its files have changed", label));
  }
}

Results results_of(const std::vector<Record>& records) {
  ResultsCollector collector;
  for (const Record& record : records) collector.add(record);
  return collector.results();
}

// Prints what each side gave, also if there is nothing to compare.
std::string result_lines(const Results& results, const char* when) {
  std::string text;
  for (const PointSummary& point : results.points) {
    const MetricSummary* throughput = point.find("throughput");
    std::string gave = throughput == nullptr
                           ? std::string(name_of(point.outcome))
                           : fmt::format("{} items/s, {}", format_estimate(throughput->estimate), verdict_words(point.verdict));
    if (!point.reason.empty()) gave += ": " + printable(point.reason);
    text += fmt::format("{} {}: {} of {}, {}\n", when, format_time(point.first_started_unix_ns),
                        count_of(point.records, "record", "records"), point_label(point.point), gave);
  }
  return text;
}

std::string versions_of(const Results& results) {
  std::set<std::string> versions;
  for (const PointSummary& point : results.points) versions.insert(point.backend_versions.begin(), point.backend_versions.end());
  return join({versions.begin(), versions.end()}, ", ");
}

void RerunCommand::print(const Results& before, const Results& after, const std::string& store) const {
  const CompareSettings settings;
  const ResultsComparison found = compare_results(before, after, settings);
  const ComparedSides sides{"then", "now"};
  if (json_) {
    fmt::print("{}", comparison_json(found, settings, sides));
    return;
  }
  print_text(result_lines(before, "then") + result_lines(after, "now"));
  const std::string old_version = versions_of(before), new_version = versions_of(after);
  if (old_version != new_version && !old_version.empty() && !new_version.empty())
    print_text(fmt::format("note: engine {} then, {} now\n", old_version, new_version));
  if (found.environment.empty()) fmt::print("note: the environments do not differ in any fact that both record\n");
  print_text(fmt::format("{}the new records are in {}\n", comparison_text(found, settings, sides, terminal_columns(stdout)), store));
}

int RerunCommand::run() {
  if (repeats_ < 1 || repeats_ > most_repeats)
    throw Error(ErrorKind::usage,
                invalid_value(std::to_string(repeats_), "--repeats", fmt::format("a number from 1 to {}, such as 5", most_repeats)));
  RunSettings settings = run_flags_.settings();
  const Store from(from_, Store::Mode::read);
  const std::vector<Record> named = records_that(from, [&](const Record& record) { return record.record_id.starts_with(record_); });
  const Record& record = only_one(named, record_);
  const std::vector<Record> kin = records_that(from, [&](const Record& other) { return is_kin(record, other); });  // with its repeats
  const std::vector<const Record*> together = measured_together(kin, record);
  if (store_->count() == 0) settings.store_path = fmt::format("rerun-{}.db", short_id(record));
  settings.part = rerun_jobs(together, repeats_);
  const Fact of = together.front()->record_id;
  settings.facts = {{rerun_fact, of}};
  Study study;
  study.name = record.study;
  require_possible(study, settings);
  const RunReport report = run_study(study, settings);
  if (!report.store_error.empty()) {
    print_ending(report, settings, json_);
    return exit_internal;
  }
  if (report.interrupted) {
    say(stderr, fmt::format("deepgap: interrupted; {} of {} records are in {}\n", report.saved, report.jobs, settings.store_path));
    return exit_interrupted;
  }
  const std::vector<Record> reruns = records_that(Store(settings.store_path, Store::Mode::read), [&](const Record& again) {
    const auto fact = again.facts.find(rerun_fact);
    return fact != again.facts.end() && fact->second == of;
  });
  print(results_of(kin), results_of(reruns), settings.store_path);
  return report.failures.empty() ? exit_ok : exit_points_failed;
}

const bool registered =
    add_command<RerunCommand>({"rerun",
                               {CommandGroup::measure, 5},
                               "Measure a record's point again as before, and report what differs",
                               "  deepgap rerun 4f2a91c0                       from deepgap.db, into rerun-4f2a91c0.db\n"
                               "  deepgap rerun 4f2a91c0 --from night.db --repeats 3\n",
                               {"--from", "--repeats", "--store", "--json", "--quiet"}});

}  // namespace
}  // namespace deepgap
