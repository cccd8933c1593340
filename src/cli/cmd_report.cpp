// deepgap report: one or several Stores as one HTML or Markdown document.
#include "analysis/lines.h"
#include "analysis/point_labels.h"
#include "base/console.h"
#include "base/file.h"
#include "base/messages.h"
#include "base/output_file.h"
#include "base/words.h"
#include "cli/baseline_flag.h"
#include "cli/command.h"
#include "cli/confined.h"
#include "cli/price_flag.h"
#include "cli/selection_flags.h"
#include "cli/stores.h"
#include "record/identity.h"
#include "report/report.h"
#include "store/store.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace deepgap {
namespace {

class ReportCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("store", stores_, "Stores to report on, together")->type_name("STORE")->required();
    app.add_option("-o,--output", output_, "Write to FILE; - is standard output [default: the first store's name with .html or .md]")
        ->type_name("FILE");
    app.add_option("--format", format_, "Output format: html or md [default: by the name of --output, else html]")->type_name("FORMAT");
    app.add_option("--title", title_, "Title of the report [default: from the studies in the store]")->type_name("TEXT");
    app.add_option("--pareto", pareto_, "Draw the Pareto front of two metrics: latency_p99_ms,throughput; repeat for more")
        ->type_name("X,Y");
    app.add_option("--within", within_, "Limit these fronts to points with: \"accuracy_loss<=1%;device_memory_mib<=4000\"")
        ->type_name("LIMITS");
    declare_prices(app, prices_);
    declare_baseline(app, baseline_);
    app.add_flag("--anonymous", anonymous_, "Leave out host names, serial numbers, user names and paths");
    which_.declare(app);
  }

  int run() override {
    const std::string format = chosen_format();
    selection_ = which_.selection();
    return work_confined(limits_of_stores(stores_, output_ == "-" ? "" : output_), [&] { return write(format); });
  }

 private:
  int write(const std::string& format) {
    const FrontOrder fronts = parse_front_order(pareto_, within_);
    const Results results = collect();
    ReportOptions options{title_.empty() ? default_title(results) : title_, anonymous_ ? "" : store_names(stores_)};
    options.fronts = fronts;
    if (format != "md") {
      options.tracks = tracks(results);
      options.sequences = sequences(results);
      options.profiles = profiles(results);
    }
    const std::string text = printable_lines(format == "md" ? markdown_report(results, options) : html_report(results, options));
    if (output_ == "-") {
      fmt::print("{}", text);
      return exit_ok;
    }
    const std::string path = output_.empty() ? std::filesystem::path(stores_.front()).replace_extension(format).string() : output_;
    for (const std::string& store : stores_) {
      if (std::filesystem::exists(path) && std::filesystem::equivalent(path, store))
        throw Error(ErrorKind::usage, fmt::format("--output {} is the store itself: name another file", path));
    }
    write_file_atomic(path, text);
    if (!output_target(path).as_it_is) print_text(path + "\n");  // not behind the report itself: /dev/stdout
    return exit_ok;
  }

  std::string chosen_format() const {
    if (format_.empty()) return format_of_name();
    if (format_ == "html" || format_ == "md") return format_;
    throw Error(ErrorKind::usage,
                invalid_choice(format_, "--format", {"html", "md"}) + (format_ == "csv" ? " (deepgap export writes CSV)" : ""));
  }

  std::string format_of_name() const {
    const std::string extension = std::filesystem::path(output_).extension().string();
    if (extension == ".md") return "md";
    if (extension.empty() || extension == ".html" || extension == ".htm") return "html";
    throw Error(ErrorKind::usage,
                fmt::format("invalid value '{}' for --output: expected a name that ends in .html or .md, or add --format", output_));
  }

  Results collect() {
    ResultsCollector collector;
    look_at_selected(stores_, selection_, anonymous_, [&](const Store&, const Record& record) {
      note_record(record);
      collector.add(record);
    });
    Results results = collector.results();
    price_results(prices_of_flag(prices_), results);
    compare_with_baseline(baseline_, results.points);
    return results;
  }

  // Readings and timings are looked up for a few Records alone.
  std::vector<Track> tracks(const Results& results) const {
    constexpr size_t most = 6;
    const PointLabels labels(results.points);
    std::vector<std::pair<std::string, Track>> wanted;  // by record_id
    for (const PointSummary* point : points_over_time(results, most)) {
      const auto known = record_ids_.find(point->on_device());
      if (known != record_ids_.end()) wanted.push_back({known->second, {labels.of(*point), {}}});
    }
    look_at_stores(stores_, false, [&](const Store& store, const Record& each) {
      for (auto& [id, track] : wanted) {
        if (id != each.record_id) continue;
        Record record = each;
        record.timings = store.timings(id);
        record.series = store.series(id);
        track = track_of(record, track.label);
      }
    });
    std::vector<Track> tracks;
    for (auto& [id, track] : wanted) tracks.push_back(std::move(track));
    return tracks;
  }

  // Picks one run of each Point that is not valid; if there are too many, some for every kind of reason.
  RunSequences sequences(const Results& results) const {
    constexpr size_t most = 12;
    const PointLabels labels(results.points);
    std::vector<std::pair<std::string, std::string>> wanted;  // record_id, label
    std::map<std::string, size_t> of_kind;
    std::vector<std::tuple<size_t, size_t, const PointSummary*>> order;
    for (const PointSummary& point : results.points) {
      if (point.outcome != Outcome::ok || !not_valid_.contains(point.on_device())) continue;
      order.emplace_back(of_kind[without_digits(point.reason)]++, order.size(), &point);
    }
    std::sort(order.begin(), order.end());
    RunSequences sequences;
    for (const auto& [place, number, point] : order) {
      if (wanted.size() < most) {
        wanted.emplace_back(not_valid_.at(point->on_device()), labels.of(*point));
      } else {
        ++sequences.left_out;
      }
    }
    std::map<std::string, RunSequence> found;
    look_at_stores(stores_, anonymous_, [&](const Store& store, const Record& each) {
      const auto place = std::find_if(wanted.begin(), wanted.end(), [&](const auto& w) { return w.first == each.record_id; });
      if (place == wanted.end() || found.contains(each.record_id)) return;
      Record record = each;
      record.timings = store.timings(each.record_id);
      record.series = store.series(each.record_id);
      if (auto sequence = run_sequence_of(record, place->second)) found.emplace(each.record_id, std::move(*sequence));
    });
    for (const auto& [id, label] : wanted) {
      if (found.contains(id)) sequences.shown.push_back(std::move(found.at(id)));
    }
    sequences.without_timings = wanted.size() - sequences.shown.size();
    return sequences;
  }

  // The first of every Point; drawn are those of different ways of running different models.
  ReportProfiles profiles(const Results& results) const {
    constexpr size_t most_drawn = 6;
    ReportProfiles found;
    const PointLabels labels(results.points);
    std::set<PointOnDevice> seen;
    std::set<std::pair<std::string, std::string>> drawn;
    std::map<const Store*, std::set<std::string>> profiled;
    look_at_selected(stores_, selection_, anonymous_, [&](const Store& store, const Record& record) {
      const auto [kept, is_new] = profiled.try_emplace(&store);
      if (is_new) kept->second = store.profiled();
      if (!kept->second.contains(record.record_id) || !seen.insert({record.point, identity_of(record).device}).second) return;
      StoredProfile stored =
          parse_stored_profile(anonymous_ ? anonymous_profile(store.profile(record.record_id)) : store.profile(record.record_id));
      stored.header.model = record.point.model;
      const std::string label = labels.of(summarize_points({&record, 1}).front());
      found.lines.push_back(profile_line(label, stored));
      if (found.drawn.size() < most_drawn && drawn.emplace(record.point.model, record.point.backend).second)
        found.drawn.emplace_back(label, std::move(stored));
    });
    return found;
  }

  static std::string without_digits(std::string text) {
    std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
    return text;
  }

  // Keeps the first good run of each Point, and the first that is not valid.
  void note_record(const Record& record) {
    if (record.outcome != Outcome::ok) return;
    const PointOnDevice key{record.point, identity_of(record).device};
    if (is_sound(record.verdict) || record.verdict == Verdict::unstable) record_ids_.try_emplace(key, record.record_id);
    if (!is_sound(record.verdict) && record.verdict != Verdict::none) not_valid_.try_emplace(key, record.record_id);
  }

  static std::string default_title(const Results& results) {
    if (results.studies.size() != 1 || *results.studies.begin() == "flags" || results.studies.begin()->empty()) {
      const auto trains = [](const PointSummary& point) { return point.point.task == Task::train; };
      const auto& points = results.points;
      if (std::none_of(points.begin(), points.end(), trains)) return "Inference performance";
      return std::all_of(points.begin(), points.end(), trains) ? "Training performance" : "Performance of inference and training";
    }
    return *results.studies.begin();
  }

  std::map<PointOnDevice, std::string> record_ids_, not_valid_;
  SelectionFlags which_;
  Selection selection_;
  std::vector<std::string> stores_;
  std::vector<std::string> pareto_;
  std::string output_, format_, title_, prices_, baseline_, within_;
  bool anonymous_ = false;
};

const bool registered = add_command<ReportCommand>({"report",
                                                    {CommandGroup::data, 1},
                                                    "Write an HTML or Markdown report of one or several stores",
                                                    "  deepgap report deepgap.db\n"
                                                    "  deepgap report h100.db h200.db -o both.html\n",
                                                    {"--output", "--format", "--title", "--prices", "--baseline", "--anonymous"}});

}  // namespace
}  // namespace deepgap
