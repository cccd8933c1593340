// deepgap site: Stores as static pages that people filter, sort and link to.
#include "base/words.h"
#include "cli/command.h"
#include "cli/confined.h"
#include "cli/price_flag.h"
#include "cli/selection_flags.h"
#include "cli/stores.h"
#include "cli/written_paths.h"
#include "record/identity.h"
#include "site/site.h"
#include "store/store.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <unordered_map>
#include <vector>

namespace deepgap {
namespace {

namespace fs = std::filesystem;

class SiteCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("store", stores_, "Stores to publish, together")->type_name("STORE")->required();
    app.add_option("-o,--output", output_, "Write the pages to the folder DIR: new, empty, or a site to replace")
        ->type_name("DIR")
        ->required();
    app.add_option("--title", title_, "Title of the pages")->type_name("TEXT")->capture_default_str();
    declare_prices(app, prices_);
    app.add_flag("--anonymous", anonymous_, "Leave out host names, serial numbers, user names and paths");
    which_.declare(app);
  }

  int run() override {
    selection_ = which_.selection();
    while (output_.size() > 1 && output_.ends_with('/')) output_.pop_back();
    require_site_folder(output_);
    require_can_be_made("--output", output_);
    const fs::path parent = fs::absolute(output_).parent_path();
    if (!fs::is_directory(parent))
      throw Error(ErrorKind::usage, fmt::format("--output {}: folder {} does not exist; create it first", output_, parent.string()));
    return work_confined(limits_of_stores(stores_, output_), [&] { return write(); });
  }

 private:
  int write() {
    ResultsCollector collector;
    TrendCollector trends("throughput", "deepgap.git");
    SiteOptions options{title_, anonymous_ ? "" : store_names(stores_)};
    look_at_selected(stores_, selection_, anonymous_, [&](const Store&, const Record& record) {
      collector.add(record);
      trends.add(record);
      if (record.outcome == Outcome::ok)
        options.origins.try_emplace({record.point, identity_of(record).device}, SiteOrigin{record.record_id, "STORE"});
    });
    if (!anonymous_) name_stores(options.origins);
    Results results = collector.results();
    if (results.points.empty())
      throw Error(ErrorKind::input, fmt::format("{} has no records: measure with deepgap run first", store_names(stores_)));
    price_results(prices_of_flag(prices_), results);
    for (TrendSeries& series : trends.series()) {
      if (series.runs.size() > 1) options.trends[{series.point, series.device}].push_back(std::move(series));
    }
    write_site(output_, results, options);
    fmt::print("{}\n", printable((fs::path(output_) / "index.html").string()));
    return exit_ok;
  }

  // A second pass over the Stores, because a visit does not say which of them a Record is from.
  void name_stores(std::map<PointOnDevice, SiteOrigin>& origins) const {
    std::unordered_map<std::string, SiteOrigin*> wanted;
    for (auto& [point, origin] : origins) wanted.emplace(origin.record_id, &origin);
    for (const std::string& path : stores_) {
      look_at_stores({path}, false, [&](const Store&, const Record& record) {
        const auto found = wanted.find(record.record_id);
        if (found == wanted.end()) return;
        found->second->store = fs::path(path).filename().string();
        wanted.erase(found);
      });
    }
  }

  SelectionFlags which_;
  Selection selection_;
  std::vector<std::string> stores_;
  std::string output_, prices_, title_ = "Results";
  bool anonymous_ = false;
};

const bool registered = add_command<SiteCommand>({"site",
                                                  {CommandGroup::data, 2},
                                                  "Write static web pages of one or several stores, to filter, sort and link to",
                                                  "  deepgap site deepgap.db -o site\n"
                                                  "  deepgap site results/*.db -o site --prices prices.toml --anonymous\n",
                                                  {"--output", "--title", "--prices", "--anonymous"}});

}  // namespace
}  // namespace deepgap
