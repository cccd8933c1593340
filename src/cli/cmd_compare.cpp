// deepgap compare: two Stores, or two selections of one, point by point; for people, pull requests and CI.
#include "analysis/compare/compare_results.h"
#include "base/console.h"
#include "base/file.h"
#include "base/messages.h"
#include "cli/command.h"
#include "cli/compare_text.h"
#include "cli/selection_flags.h"
#include "cli/stores.h"
#include "profile/profile_change.h"
#include "profile/stored_profile.h"
#include "record/identity.h"
#include "run/progress.h"
#include "store/store.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

namespace deepgap {
namespace {

enum CompareExit { exit_none_slower = 0, exit_slower = 1, exit_not_enough_data = 4, exit_not_comparable = 5 };

const char* word_of(CompareExit code) {
  switch (code) {
    case exit_none_slower:
      return "held";
    case exit_slower:
      return "slower";
    case exit_not_enough_data:
      return "not enough data";
    case exit_not_comparable:
      break;
  }
  return "nothing to compare";
}

// Nothing of both sides, or something that was measured on unlike devices.
bool is_comparable(const ResultsComparison& found, bool gated) {
  const bool other_device = std::any_of(found.points.begin(), found.points.end(), [](const PointChange& p) { return p.other_device; });
  return !found.points.empty() && !(gated && other_device);
}

CompareExit exit_of(Gate gate) { return gate == Gate::held ? exit_none_slower : gate == Gate::slower ? exit_slower : exit_not_enough_data; }

class CompareCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("store", stores_, "Baseline store, then the store to judge; or one store with --a and --b")
        ->type_name("STORE")
        ->required()
        ->expected(1, 2);
    app.add_option("--a", a_, "Select results of the first store: backend=native;batch=8 (columns of the export, and options)")
        ->type_name("SELECTION");
    app.add_option("--b", b_, "Select results of the second store, or of the same store")->type_name("SELECTION");
    metric_flag_ = app.add_option("--metric", settings_.metric, "Compare this column of the export")
                       ->type_name("METRIC")
                       ->default_str(fmt::format("throughput; {} if all loads are open", metric_of_open_loops));
    app.add_option("--margin", margin_, "Treat smaller differences as equal")->type_name("PERCENT")->capture_default_str();
    app.add_option(
           "--fail-if-slower", fail_if_slower_,
           "Test whether any point of the second is slower by more than this. Exit with 1 if one is, 4 if there is not enough data, 5 "
           "if nothing can be compared")
        ->type_name("PERCENT");
    app.add_option("--format", format_, "Output format: text, md (for a pull request) or json")->type_name("FORMAT")->capture_default_str();
    app.add_flag("--json", json_, "Print JSON, as --format json does");
    app.add_flag("--profile", profile_, "Show which parts of the networks changed, if run --profile kept profiles of both sides");
    app.add_option("-o,--output", output_, "Write an HTML page with a forest plot of the ratios")->type_name("FILE.html");
    which_.declare(app);
  }
  int run() override;

 private:
  SelectionFlags which_;  // selects Records on both sides
  std::vector<std::string> stores_;
  std::string a_, b_, margin_ = "2%", fail_if_slower_, format_ = "text", output_;
  bool json_ = false, profile_ = false;
  CompareSettings settings_;
  const CLI::Option* metric_flag_ = nullptr;
};

using KeptProfiles = std::map<PointOnDevice, std::string>;  // as their Stores give them

Results selected(const std::string& path, const Selection& selection, KeptProfiles* profiles) {
  ResultsCollector collector;
  std::optional<std::set<std::string>> profiled;
  look_at_selected({path}, selection, false, [&](const Store& store, const Record& record) {
    collector.add(record);
    if (profiles == nullptr) return;
    if (!profiled) profiled = store.profiled();
    if (profiled->contains(record.record_id))
      profiles->try_emplace({record.point, identity_of(record).device}, store.profile(record.record_id));
  });
  return collector.results();
}

// Compares the profiles of every pair that has both.
std::string profiles_text(const ResultsComparison& found, const KeptProfiles& of_a, const KeptProfiles& of_b, const ComparedSides& sides) {
  constexpr size_t top = 12;
  const PointLabels labels = labels_of(found);
  std::string text;
  for (const PointChange& change : found.points) {
    const auto a = of_a.find(change.a->on_device()), b = of_b.find(change.b->on_device());
    if (a == of_a.end() || b == of_b.end()) continue;
    text += labels.of(*change.b) + ":\n" +
            profile_change_text(profile_change(parse_stored_profile(a->second).profile, parse_stored_profile(b->second).profile), sides.a,
                                sides.b, top);
  }
  return text.empty() ? "no point has a profile on both sides; measure with deepgap run --profile\n" : text;
}

std::string side_name(const std::string& path, const std::string& selection, bool with_path) {
  if (selection.empty()) return store_names({path});
  return with_path ? fmt::format("{} {}", store_names({path}), selection) : selection;
}

int CompareCommand::run() {
  if (json_) format_ = "json";
  const std::vector<std::string> formats{"text", "md", "json"};
  if (std::find(formats.begin(), formats.end(), format_) == formats.end())
    throw Error(ErrorKind::usage, invalid_choice(format_, "--format", formats));
  if (stores_.size() == 1 && (a_.empty() || b_.empty()))
    throw Error(ErrorKind::usage, "only one store: select two sets of results with --a and --b, or name two stores");
  check_page_path(output_, stores_);
  settings_.margin = checked_positive_fraction(margin_, "--margin", "2%");
  const double slower = fail_if_slower_.empty() ? 0 : checked_positive_fraction(fail_if_slower_, "--fail-if-slower", "2%");
  settings_.gate_margin = slower;
  Selection first(a_), second(b_);
  const auto first_keys = first.keys(), second_keys = second.keys();
  std::set_union(first_keys.begin(), first_keys.end(), second_keys.begin(), second_keys.end(),
                 std::inserter(settings_.differing, settings_.differing.begin()));
  const Selection both = which_.selection();
  first.add(both);
  second.add(both);
  KeptProfiles profiles_a, profiles_b;
  const Results a = selected(stores_.front(), first, profile_ ? &profiles_a : nullptr),
                b = selected(stores_.back(), second, profile_ ? &profiles_b : nullptr);
  ResultsComparison found = compare_results(a, b, settings_);
  if (metric_flag_->count() == 0 && found.points.empty() && found.offered > 0) {
    settings_.metric = metric_of_open_loops;
    found = compare_results(a, b, settings_);
  }
  const bool two = stores_.size() == 2;
  ComparedSides sides{side_name(stores_.front(), a_, two), side_name(stores_.back(), b_, two)};
  if (sides.a == sides.b) sides = {"A", "B"};
  CompareExit code = is_comparable(found, slower > 0) ? exit_none_slower : exit_not_comparable;
  std::optional<GateAnswer> gate;
  if (slower > 0) {
    gate = GateAnswer{slower, {}, {}};
    if (code != exit_not_comparable) gate->judged = judge_gate(found, settings_, slower);
    if (gate->judged) code = exit_of(gate->judged->gate);
    gate->result = word_of(code);
  }
  if (format_ == "json") {
    fmt::print("{}", comparison_json(found, settings_, sides, gate));
  } else {
    print_text(format_ == "md" ? comparison_markdown(found, settings_, sides)
                               : comparison_text(found, settings_, sides, terminal_columns(stdout)));
    if (gate) print_text((format_ == "md" ? "\n" : "") + gate_text(*gate, found));
  }
  if (profile_) print_text(profiles_text(found, profiles_a, profiles_b, sides));
  if (!output_.empty()) write_file_atomic(output_, compare_page(compared_stores(found, settings_, sides)));
  return code;
}

const bool registered = add_command<CompareCommand>({"compare",
                                                     {CommandGroup::compare, 1},
                                                     "Compare two stores or two selections point by point, also as a gate for CI",
                                                     "  deepgap compare before.db after.db --fail-if-slower 2%\n"
                                                     "  deepgap compare deepgap.db --a backend=onnxruntime --b backend=native\n",
                                                     {"--a", "--b", "--metric", "--margin", "--fail-if-slower", "--format", "--output"}});

}  // namespace
}  // namespace deepgap
