// deepgap recommend: which of what was measured to take.
#include "analysis/decide/recommend.h"
#include "analysis/words.h"
#include "base/console.h"
#include "base/messages.h"
#include "base/quantity.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/confined.h"
#include "cli/price_flag.h"
#include "cli/recommend_text.h"
#include "cli/selection_flags.h"
#include "cli/stores.h"
#include "run/progress.h"
#include "store/store.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace deepgap {
namespace {

constexpr double most_rate = 1e12;  // items a second

class RecommendCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("store", stores_, "Stores to choose from, of one machine or several")->type_name("STORE")->required();
    app.add_option("--bound,--slo", bounds_, "Latency SLO to meet: p99=15ms; repeat for more")->type_name("pN=TIME");
    app.add_option("--rate", rate_, "Items a second to serve, with as many devices as needed")->type_name("RATE");
    app.add_option("--accuracy-loss", loss_, "Largest loss of top-1 accuracy against fp32: 1%")->type_name("PERCENT");
    app.add_option("--minimize", goal_, "Minimize cost, energy, devices or latency [default: cost with --prices, else devices]")
        ->type_name("cost|energy|devices|latency");
    app.add_option("--allow", allow_, "Accept rows that are unchecked, unstable, undecided (inconclusive), invalid or published")
        ->type_name("WHAT,WHAT...");
    declare_prices(app, prices_);
    app.add_flag("--json", json_, "Print JSON: choice, runners_up and unknown");
    which_.declare(app);
  }

  int run() override {
    const Demand demand = demand_of_flags();
    selection_ = which_.selection();
    return work_confined(limits_of_stores(stores_, ""), [&] { return choose(demand); });
  }

 private:
  int choose(const Demand& demand) const {
    ResultsCollector collector;
    look_at_selected(stores_, selection_, false, [&](const Store&, const Record& record) { collector.add(record); });
    Results results = collector.results();
    price_results(prices_of_flag(prices_), results);
    const std::vector<Workload> workloads = arrange(results.points);
    const Workload workload = asked_for(workloads);
    check_fits(demand, workload, results.points);
    const Recommendation found = recommend(workload, demand);
    if (json_) {
      fmt::print("{}", recommendation_json(found, workload, demand, results.currency));
    } else {
      print_wrapped(recommendation_text(found, workload, demand, results.currency));
    }
    return found.choice ? exit_ok : exit_points_failed;
  }

  Demand demand_of_flags() const {
    Demand demand;
    for (const std::string& text : bounds_) {
      if (!latency_bound_from(text))
        throw Error(ErrorKind::usage, invalid_value(text, "--slo", "a percentile and its limit, such as p99=15ms"));
      demand.bounds.push_back(*latency_bound_from(text));
      const LatencyBound& bound = demand.bounds.back();
      const auto same =
          std::find_if(demand.bounds.begin(), demand.bounds.end() - 1, [&](const auto& b) { return b.percent == bound.percent; });
      if (same == demand.bounds.end() - 1) continue;
      throw Error(ErrorKind::usage,
                  same->limit == bound.limit
                      ? fmt::format("--slo {} is given twice", text)
                      : fmt::format("--slo {} and {} contradict each other: both limit the same percentile", same->text, text));
    }
    check_order(demand.bounds);
    if (!rate_.empty()) {
      demand.rate = parse_double(rate_);
      if (!demand.rate || !(*demand.rate > 0))
        throw Error(ErrorKind::usage, fmt::format("invalid value '{}' for --rate: expected items a second above 0, such as 4000", rate_));
      if (*demand.rate > most_rate)
        throw Error(ErrorKind::usage,
                    fmt::format("invalid value '{}' for --rate: expected at most {} items a second", rate_, short_text(most_rate, 3)));
    }
    if (!loss_.empty()) demand.accuracy_loss = checked_fraction(loss_, "--accuracy-loss", "1%");
    demand.goal = goal_of_flag();
    if (!allow_.empty()) {
      const std::vector<std::string> known{"unchecked", "unstable", "undecided", "invalid", "published"};
      for (const std::string& word : split(allow_, ',')) {
        if (std::find(known.begin(), known.end(), word) == known.end())
          throw Error(ErrorKind::usage, invalid_choice(word, "--allow", known));
        demand.allowed.insert(word);
      }
    }
    return demand;
  }

  // p50=20ms beside p99=10ms: the second says more, so one of them is a slip.
  static void check_order(const std::vector<LatencyBound>& bounds) {
    for (const LatencyBound& a : bounds) {
      for (const LatencyBound& b : bounds) {
        if (a.percent < b.percent && a.limit >= b.limit)
          throw Error(
              ErrorKind::usage,
              fmt::format("--slo {} and {} contradict each other: the limit on the lower percentile has no effect beside the higher one",
                          a.text, b.text));
      }
    }
  }

  Goal goal_of_flag() const {
    if (goal_.empty()) return prices_.empty() ? Goal::devices : Goal::cost;
    for (const Goal goal : {Goal::cost, Goal::energy, Goal::devices, Goal::latency}) {
      if (goal_ == name_of(goal)) return goal;
    }
    throw Error(ErrorKind::usage, invalid_choice(goal_, "--minimize", {"cost", "energy", "devices", "latency"}));
  }

  // Throws if these Points cannot answer the question at all.
  void check_fits(const Demand& demand, const Workload& workload, const std::vector<PointSummary>& points) const {
    const auto has_cost = [](const PointSummary& point) { return point.find("cost_per_hour") != nullptr; };
    if (demand.goal == Goal::cost && prices_.empty() && std::none_of(points.begin(), points.end(), has_cost))
      throw Error(ErrorKind::usage, fmt::format("--minimize cost needs --prices FILE: {} has no costs", store_names(stores_)));
    if (workload.key.task == Task::train && (!demand.bounds.empty() || demand.accuracy_loss))
      throw Error(ErrorKind::usage, "training steps answer no queries: leave out --slo and --accuracy-loss");
  }

  // All Lines of the one model: its weights and datasets may differ, which is said.
  Workload asked_for(const std::vector<Workload>& workloads) const {
    std::set<std::string> models;
    for (const Workload& workload : workloads) models.insert(workload.key.model);
    if (models.empty()) throw Error(ErrorKind::input, fmt::format("{}: there are no measurements", store_names(stores_)));
    if (models.size() > 1)
      throw Error(ErrorKind::usage, fmt::format("{} {} several models ({}): choose one with --model", store_names(stores_),
                                                stores_.size() == 1 ? "has" : "have", join({models.begin(), models.end()}, ", ")));
    const std::string model = *models.begin();
    std::set<std::string> tasks;
    for (const Workload& workload : workloads) tasks.emplace(name_of(workload.key.task));
    if (tasks.size() > 1)
      throw Error(ErrorKind::usage, fmt::format("{} have several tasks ({}): choose one with --task", store_names(stores_),
                                                join({tasks.begin(), tasks.end()}, ", ")));
    Workload all;
    std::vector<std::string> labels;
    for (const Workload& workload : workloads) {
      if (workload.key.model != model) continue;
      if (labels.empty()) all.key = workload.key;
      labels.push_back(workload.label);
      all.lines.insert(all.lines.end(), workload.lines.begin(), workload.lines.end());
    }
    all.label = model;
    if (labels.size() > 1) say(stderr, fmt::format("deepgap: note: compared as one: {}\n", list_of(labels)));
    return all;
  }

  std::vector<std::string> stores_, bounds_;
  SelectionFlags which_;
  Selection selection_;
  std::string rate_, loss_, goal_, allow_, prices_;
  bool json_ = false;
};

const bool registered = add_command<RecommendCommand>({"recommend",
                                                       {CommandGroup::decide, 1},
                                                       "Recommend device, engine, precision and batch from measured results",
                                                       "  deepgap recommend l4.db t4.db --slo p99=15ms --rate 4000 --prices prices.toml\n"
                                                       "  deepgap recommend deepgap.db --minimize energy --accuracy-loss 1%\n",
                                                       {"--slo", "--rate", "--accuracy-loss", "--minimize", "--prices", "--json"}});

}  // namespace
}  // namespace deepgap
