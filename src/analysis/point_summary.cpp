#include "analysis/point_summary.h"

#include "analysis/accuracy_loss.h"
#include "analysis/combine_repeats.h"
#include "analysis/common_environments.h"
#include "analysis/independent_queries.h"
#include "analysis/latency_percentile.h"
#include "analysis/point_verdict.h"
#include "base/text.h"
#include "record/averaged.h"
#include "record/duel_set.h"
#include "record/fact_values.h"
#include "record/latency_percentiles.h"
#include "record/published.h"
#include "record/record_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

namespace deepgap {
namespace {

// The number by which equal nodes are known in different Points.
uint64_t number_of(const std::string& node) { return node.empty() ? 0 : std::hash<std::string>()(node); }

// Points of one run that share it were measured one after the other. A Record without a run, or one of several in a block, is its own.
uint64_t block_of(const Record& record) { return std::hash<std::string>()(fmt::format("{}/{}", record.run_id, record.repeat)); }

// The values of a Point's Records that ran, without everything else that they carry.
struct Values {
  int64_t records = 0, repeats = 0;  // Records, and what they are averages of
  RepeatVerdicts verdicts;
  bool unchecked = false;
  std::map<std::string, std::vector<RepeatEstimate>> estimates;  // by Metric id, one a Record
  std::vector<std::pair<uint64_t, LatencySketch>> sketches;      // one for each Record that has one, with its node
  int64_t independent = 0;                                       // as how many independent queries these count

  // A Record's value of a Metric. The same samples once more narrow no interval: of accuracies the last one stays.
  void add(const std::string& id, std::span<const RepeatEstimate> further) {
    std::vector<RepeatEstimate>& repeats = estimates[id];
    if (id.starts_with("accuracy_")) repeats.clear();
    repeats.insert(repeats.end(), further.begin(), further.end());
  }
  void add(const Values& other) {
    records += other.records;
    repeats += other.repeats;
    verdicts.add(other.verdicts);
    unchecked |= other.unchecked;
    for (const auto& [id, further] : other.estimates) add(id, further);
    independent += other.independent;
    sketches.insert(sketches.end(), other.sketches.begin(), other.sketches.end());
  }
};

struct Group {
  PointSummary summary;  // all but metrics, outcome and verdict, which need every Record
  Values values;
};

void count_outcome(std::vector<OutcomeCount>& outcomes, const OutcomeCount& ended) {
  for (OutcomeCount& seen : outcomes) {
    if (seen.outcome == ended.outcome && seen.verdict == ended.verdict && seen.reason == ended.reason) {
      seen.count += ended.count;
      if (seen.stderr_tail.empty()) seen.stderr_tail = ended.stderr_tail;
      return;
    }
  }
  outcomes.push_back(ended);
}

void keep_worst_check(std::optional<CheckResult>& worst, const std::optional<CheckResult>& check) {
  if (!check) return;
  if (!worst || std::pair(check->pass, check->sqnr_db) < std::pair(worst->pass, worst->sqnr_db)) worst = check;
}

void describe_point(PointSummary& summary, const Record& record, const Identity& identity) {
  summary.point_id = point_id(record.point);
  summary.point = record.point;
  summary.identity = identity;
  summary.tenant = record.tenant;
  summary.rank = record.rank;
  summary.stopping = record.stopping;
  summary.first_started_unix_ns = summary.last_started_unix_ns = record.started_unix_ns;
}

void keep_dispatcher_facts(PointSummary& summary, const Record& record) {
  constexpr std::string_view prefix = "dispatcher.";
  summary.dispatcher.clear();
  for (auto fact = record.facts.lower_bound(std::string(prefix)); fact != record.facts.end() && fact->first.starts_with(prefix); ++fact) {
    summary.dispatcher.emplace(fact->first.substr(prefix.size()), fact->second);
  }
}

// Copies the work counts of a Record or a summary. A Record that failed before the model was read has zeros here.
template <typename From>
void keep_work(PointSummary& summary, const From& from) {
  summary.parameters = std::max(summary.parameters, from.parameters);
  summary.macs_per_item = std::max(summary.macs_per_item, from.macs_per_item);
  summary.flop_per_item = std::max(summary.flop_per_item, from.flop_per_item);
  summary.bytes_per_item = std::max(summary.bytes_per_item, from.bytes_per_item);
}

void add_annotations(Annotations& all, const Annotations& more) {
  all.tags.insert(more.tags.begin(), more.tags.end());
  all.notes.insert(more.notes.begin(), more.notes.end());
}

std::string notes_of(const Record& record) {
  std::vector<std::string> notes;
  for (const char* fact : noted_facts)
    if (std::string note = fact_or<std::string>(record.facts, fact, ""); !note.empty()) notes.push_back(std::move(note));
  return join(notes, ", ");
}

InterleavedPlace place_of(const Record& record) {
  const std::string arm = fact_or<std::string>(record.facts, interleaved_arm_fact, "");
  const auto number = parse_int(arm.substr(0, arm.find('/')));
  if (!number) return {};
  return {fact_or<std::string>(record.facts, interleaved_arms_fact, ""), static_cast<int>(*number),
          fact_or<std::string>(record.facts, interleaved_result_fact, "")};
}

void keep_place(PointSummary& summary, const Record& record, bool is_first) {
  InterleavedPlace place = place_of(record);
  const bool same = place.arms == summary.interleaved.arms && place.number == summary.interleaved.number;
  summary.interleaved = is_first || same ? std::move(place) : InterleavedPlace{};
}

// Returns the number of nodes if there are several, else of repeats.
int64_t values_behind(const PointSummary& summary) { return summary.averaged_nodes > 1 ? summary.averaged_nodes : summary.used; }

void add_record(Group& group, const Record& record) {
  PointSummary& summary = group.summary;
  summary.records += records_in(record);
  summary.averaged_nodes = std::max(summary.averaged_nodes, fact_or<int64_t>(record.facts, averaged_nodes_fact, 0));
  if (summary.currency.empty()) summary.currency = fact_or<std::string>(record.facts, published_currency_fact, "");
  count_outcome(summary.outcomes, {record.outcome, record.verdict, record.reason, records_in(record), record.stderr_tail});
  keep_worst_check(summary.check, record.check);
  if (!record.backend_version.empty()) summary.backend_versions.insert(record.backend_version);
  if (!record.study.empty()) summary.studies.insert(record.study);
  add_annotations(summary.annotations, record.annotations);
  if (summary.dataset_description.empty()) summary.dataset_description = record.dataset_description;
  keep_work(summary, record);
  summary.first_started_unix_ns = std::min(summary.first_started_unix_ns, record.started_unix_ns);
  summary.last_started_unix_ns = std::max(summary.last_started_unix_ns, record.started_unix_ns);
  if (record.outcome != Outcome::ok) return;
  keep_dispatcher_facts(summary, record);
  if (std::string notes = notes_of(record); !notes.empty()) summary.notes = std::move(notes);
  if (!record.run_id.empty()) summary.runs.insert(record.run_id);
  Values& values = group.values;
  keep_place(summary, record, values.records == 0);
  ++values.records;
  values.repeats += repeats_in(record);
  values.verdicts.add(record);
  values.unchecked = values.unchecked || record.unchecked;
  std::string name = node_of(record);
  const uint64_t block = block_of(record), node = number_of(name);
  summary.nodes.try_emplace(node, std::move(name));
  if (auto sketch = latency_sketch_of(record)) {
    values.independent += independent_queries(record, sketch->count());
    values.sketches.emplace_back(node, std::move(*sketch));
  }
  for (const auto& [id, estimate] : record.estimates) {
    if (!std::isfinite(estimate.value)) continue;
    values.add(id, std::array{RepeatEstimate{estimate, block, node}});
  }
}

const OutcomeCount& representative(const std::vector<OutcomeCount>& outcomes) {
  // Higher is preferred. `outcomes` is sorted by count, so the first of a rank is its most frequent.
  const auto rank = [](const OutcomeCount& seen) {
    if (seen.outcome == Outcome::incorrect) return 3;
    if (seen.outcome == Outcome::ok) return 2;
    return seen.outcome == Outcome::interrupted ? 0 : 1;
  };
  return *std::max_element(outcomes.begin(), outcomes.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
}

// Clusters of queries, all that there are: runs, or where these were on several nodes, nodes. Empty where a Record has no sketch.
std::vector<LatencySketch> clusters_of(const Values& used, const PointSummary& summary) {
  std::vector<LatencySketch> clusters;
  if (static_cast<int64_t>(used.sketches.size()) != used.records) return clusters;
  std::map<uint64_t, size_t> nodes;
  for (const auto& [node, sketch] : used.sketches) {
    const auto [at, is_new] = nodes.try_emplace(node, clusters.size());
    if (is_new || summary.nodes.size() < 2) {
      clusters.push_back(sketch);
    } else {
      clusters[at->second].add(sketch);
    }
  }
  return clusters;
}

// Records without a node ran on the only named one, if there is one; beside several nodes they count as one more.
uint64_t leave_out_unnamed(std::map<uint64_t, std::string>& nodes) {
  if (nodes.size() != 2 || nodes.erase(0) == 0) return 0;
  return nodes.begin()->first;
}

std::vector<Estimate> missed_shares(const Values& used) {
  std::vector<Estimate> shares;
  const auto found = used.estimates.find("missed_share");
  if (found == used.estimates.end()) return shares;
  for (const RepeatEstimate& repeat : found->second) shares.push_back(repeat.estimate);
  return shares;
}

PointSummary finish(const Group& group) {
  PointSummary summary = group.summary;
  std::stable_sort(summary.outcomes.begin(), summary.outcomes.end(), [](const auto& a, const auto& b) { return a.count > b.count; });
  const OutcomeCount& shown = representative(summary.outcomes);
  summary.outcome = shown.outcome;
  summary.reason = shown.reason;
  summary.stderr_tail = shown.stderr_tail;
  if (summary.outcome != Outcome::ok) return summary;

  const Values& used = group.values;
  summary.used = used.repeats;
  summary.unchecked = used.unchecked;
  const uint64_t unnamed = leave_out_unnamed(summary.nodes);
  const std::vector<LatencySketch> clusters = clusters_of(used, summary);
  for (const auto& [id, estimates] : used.estimates) {
    auto combined = combine_repeats(id, estimates, unnamed, summary.stopping.auto_repeats);
    if (!combined) continue;
    pool_percentile(id, clusters, used.independent, *combined);
    if (is_averaged(summary.point) && used.records == 1) know_as_average(id, values_behind(summary), *combined);
    summary.metrics.emplace(id, std::move(*combined));
  }
  keep_within_extremes(summary.metrics);
  judge_repeats(summary, used.verdicts, missed_shares(used));
  return summary;
}

}  // namespace

bool is_of_two(const MetricSummary& metric) {
  if (!metric.over_repeats || metric.repeats.size() < 2) return false;
  std::set<uint64_t> nodes;
  for (const RepeatValue& repeat : metric.repeats) nodes.insert(repeat.node);
  return metric.repeats.size() == 2 || nodes.size() == 2;
}

const MetricSummary* PointSummary::find(const std::string& metric) const {
  const auto found = metrics.find(metric);
  return found == metrics.end() ? nullptr : &found->second;
}

int64_t PointSummary::count(Outcome which) const {
  int64_t total = 0;
  for (const OutcomeCount& seen : outcomes) total += seen.outcome == which ? seen.count : 0;
  return total;
}

namespace {

// Adds Records without a device to the known device's group; before or after its own, in the order they came.
void merge(Group& known, const Group& unknown) {
  PointSummary& into = known.summary;
  const PointSummary& from = unknown.summary;
  into.records += from.records;
  into.averaged_nodes = std::max(into.averaged_nodes, from.averaged_nodes);
  if (into.currency.empty()) into.currency = from.currency;
  for (const OutcomeCount& ended : from.outcomes) count_outcome(into.outcomes, ended);
  keep_worst_check(into.check, from.check);
  into.backend_versions.insert(from.backend_versions.begin(), from.backend_versions.end());
  into.studies.insert(from.studies.begin(), from.studies.end());
  add_annotations(into.annotations, from.annotations);
  into.machines.insert(from.machines.begin(), from.machines.end());
  into.hosts.insert(from.hosts.begin(), from.hosts.end());
  into.nodes.insert(from.nodes.begin(), from.nodes.end());
  into.runs.insert(from.runs.begin(), from.runs.end());
  if (into.dataset_description.empty()) into.dataset_description = from.dataset_description;
  if (into.dispatcher.empty()) into.dispatcher = from.dispatcher;
  keep_work(into, from);
  into.stopping.auto_repeats = into.stopping.auto_repeats || from.stopping.auto_repeats;
  into.stopping.asked_of_all = std::max(into.stopping.asked_of_all, from.stopping.asked_of_all);
  into.first_started_unix_ns = std::min(into.first_started_unix_ns, from.first_started_unix_ns);
  into.last_started_unix_ns = std::max(into.last_started_unix_ns, from.last_started_unix_ns);
  known.values.add(unknown.values);
}

// Identifies a group.
struct GroupKey {
  Point point;
  std::string tenant;
  int rank = 0;
  std::string device;
  auto operator<=>(const GroupKey&) const = default;
  bool same_but_device(const GroupKey& other) const {
    return std::tie(point, tenant, rank) == std::tie(other.point, other.tenant, other.rank);
  }
};

}  // namespace

// Groups are found by comparing Points; the id, a hash of canonical JSON, is made once for each.
struct PointCollector::State {
  std::vector<Group> groups;
  CommonEnvironments environments;
  std::map<GroupKey, size_t> index;
  int64_t records = 0;

  // Returns the group for the Records of groups[unknown], which have no device; nullopt: the Point has no known device, or several.
  std::optional<size_t> only_known(std::map<GroupKey, size_t>::const_iterator unknown) const {
    const auto next = std::next(unknown);  // an empty device sorts first
    if (next == index.end() || !next->first.same_but_device(unknown->first)) return std::nullopt;
    const auto third = std::next(next);
    if (third != index.end() && third->first.same_but_device(unknown->first)) return std::nullopt;
    return next->second;
  }
};

PointCollector::PointCollector() : state_(std::make_unique<State>()) {}
PointCollector::~PointCollector() = default;
PointCollector::PointCollector(PointCollector&&) noexcept = default;
PointCollector& PointCollector::operator=(PointCollector&&) noexcept = default;

void PointCollector::add(const Record& record) {
  Identity identity = identity_of(record);
  const auto [place, is_new] =
      state_->index.try_emplace({without_paths(record.point), record.tenant, record.rank, identity.device}, state_->groups.size());
  if (is_new) describe_point(state_->groups.emplace_back().summary, record, identity);
  Group& group = state_->groups[place->second];
  group.summary.stopping.auto_repeats = group.summary.stopping.auto_repeats || record.stopping.auto_repeats;
  group.summary.stopping.asked_of_all = std::max(group.summary.stopping.asked_of_all, record.stopping.asked_of_all);
  add_record(group, record);
  if (const std::string several = fact_or<std::string>(record.facts, averaged_machines_fact, ""); !several.empty()) {
    for (const std::string& machine : split(several, ';')) group.summary.machines.insert(trim(machine));
  } else if (!identity.machine.empty()) {
    group.summary.machines.insert(std::move(identity.machine));
  }
  if (!identity.host.empty()) group.summary.hosts.insert(std::move(identity.host));
  group.summary.environment = state_->environments.common(group.summary.environment, record.environment);
  ++state_->records;
}

int64_t PointCollector::records() const { return state_->records; }

std::vector<PointSummary> PointCollector::summaries() const {
  std::map<size_t, Group> merged;  // the groups that took others in
  std::set<size_t> moved;          // those others
  for (auto at = state_->index.begin(); at != state_->index.end(); ++at) {
    const auto known = at->first.device.empty() ? state_->only_known(at) : std::nullopt;
    if (!known) continue;
    moved.insert(at->second);
    const auto into = merged.emplace(*known, state_->groups[*known]).first;
    merge(into->second, state_->groups[at->second]);
  }
  std::vector<PointSummary> summaries;
  summaries.reserve(state_->groups.size() - moved.size());
  for (size_t i = 0; i < state_->groups.size(); ++i) {
    if (moved.count(i) > 0) continue;
    const auto own = merged.find(i);
    summaries.push_back(finish(own == merged.end() ? state_->groups[i] : own->second));
  }
  add_accuracy_losses(summaries);
  return summaries;
}

std::vector<PointSummary> summarize_points(std::span<const Record> records) {
  PointCollector collector;
  for (const Record& record : records) collector.add(record);
  return collector.summaries();
}

}  // namespace deepgap
