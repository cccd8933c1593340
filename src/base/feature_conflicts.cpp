#include "base/feature_conflicts.h"

#include "base/text.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace deepgap {
namespace {

constexpr auto with = ConflictRow::Relation::with, without = ConflictRow::Relation::without;

constexpr ConflictRow rows[] = {
    {"grid", "max_delay|pad", without, "max_batch",
     "{0} needs batches of several queries: give max_batch (--max-batch 8), or leave it out"},
    {"grid", "shed_allowed", without, "shed",
     "{0} needs a policy that sheds queries: give shed=reject-newest or drop-oldest, or leave it out"},
    {"grid", "quantize option", without, "precision=int8", "{0} applies to precision int8: add it to the precisions, or leave it out"},
    {"grid", "decode_threads", without, "end_to_end",
     "{0} applies to end-to-end queries: add --end-to-end serial or overlapped, or leave it out"},
    {"grid", "total_samples", with, "iterations", "{0} and {1} both say when a run ends: leave one of them out"},
    {"grid", "find_peak", with, "tenants", "--find-peak tests one model at a time: leave out the tenants"},
    {"grid", "find_peak", with, "mlperf", "--find-peak does not work for MLPerf runs: leave out --mlperf"},
    {"grid", "find_peak", with, "open window",
     "--find-peak compares windows of one length: leave out --iterations, --interval and --percentile"},
    {"grid", "find_peak", with, "repeats", "--find-peak repeats runs where needed: leave out --repeats and --sweeps"},
    {"grid", "duel", with, "energy", "--duel has no window to measure energy in: leave out --energy or --duel"},
    {"grid", "duel", with, "tenants", "--duel runs models in turn, tenants run at the same time: leave out one of them"},
    {"grid", "duel", with, "find_peak", "--duel compares fixed loads, and a peak search varies the load: leave out one of them"},
    {"grid", "duel", with, "mlperf", "an MLPerf run ends by rules of its own: leave out --mlperf or --duel"},
    {"grid", "duel", with, "task=train|task=generate", "--duel interleaves queries: leave out {1} or --duel"},
    {"grid", "duel", with, "processes", "each arm of --duel is one process: leave out --processes or --duel"},
    {"grid", "duel", with, "ending rule",
     "--duel ends when the difference is clear, or after --budget: leave out iterations, duration, energy, interval and percentile; "
     "--margin sets the smallest difference that counts, --min-duration makes its interval narrower"},
    {"grid", "power=burst|power=sustained", with, "duel|tenants|mlperf|find_peak",
     "{0} applies to points that are measured alone: leave it out with --duel, --tenant, --mlperf and --find-peak"},
    {"grid", "tenant_cpus", without, "tenants", "{0} is for tenants: add --tenant twice or more"},
    {"grid", "tenant_cpus=split", with, "affinity", "{0} chooses the CPUs: leave out {1}, or split"},
    {"grid", "tenants", with, "processes", "each tenant is one process: leave out --processes or the tenants"},
    {"grid", "tenants", with, "mlperf", "an MLPerf run ends by rules of its own: leave out --mlperf or the tenants"},
    {"grid", "tenants", with, "open window",
     "tenants are measured in windows of one length: give a duration, and leave out iterations, interval and percentile"},

    {"point", "option of train", without, "task=train", "{0} applies to training: add --task train, or leave it out"},
    {"point", "generation option", without, "task=generate", "{0} applies to generation: add --task generate, or leave it out"},
    {"point", "token SLO", without, "task=generate", "the SLO {0} applies to generation: add --task generate, or leave it out"},
    {"point", "mlperf option", without, "mlperf", "{0} applies to MLPerf runs: add --mlperf ROUND, or leave it out"},
    {"point", "task=train", with, "mlperf|tenants|peak|bound|end_to_end", "{1} does not apply to task train: leave it out"},
    {"point", "task=train", with, "dispatch option", "{1} spreads queries over sessions, which training does not have: leave it out"},
    {"point", "task=generate", with, "batch",
     "a query of task generate is one prompt: leave out --batch; scenario concurrency has many in flight"},
    {"point", "task=generate", with, "max_batch|end_to_end|labels|input", "{1} does not apply to task generate: leave it out"},
    {"point", "mlperf", with, "bound", "the round's rules bound an MLPerf run's latency: set mlperf_target_latency (ms) instead of --slo"},
    {"point", "mlperf", with, "shed", "an MLPerf run answers every query: leave out shed"},
    {"point", "mlperf", with, "end_to_end", "an MLPerf run measures the network alone: leave out --end-to-end"},
    {"point", "end_to_end", with, "processes", "--end-to-end needs one process: leave out --processes"},
    {"point", "power=burst|power=sustained", without, "GPU",
     "{0} needs a GPU whose power limit deepgap can read: give --device cuda:0, or leave it out"},
    {"point", "power=burst", without, "full load",
     "{0} needs a load that keeps the GPU busy: give --scenario batch, offline or single-stream, or leave it out"},

    {"run|rerun|tune", "--quiet", with, "--verbose", "{0} and {1} contradict each other: leave one of them out"},
    {"run|rerun|tune", "--progress=json", with, "--quiet|--verbose", "{0} contradicts {1}: leave one of them out"},
    {"run", "--iterations", with, "--duration|--interval", "{0} and {1} each end a run: give one of them"},
    {"run", "--duration", with, "--interval", "{0} and {1} each end a run: give one of them"},
    {"run", "--mlperf", with, "--iterations|--duration|--min-duration|--budget|--interval|--percentile",
     "an MLPerf run ends by the rules of its round: leave out {1}; --axis mlperf_min_duration=MS and --scale change the rules"},
    {"run", "--mlperf-trace", without, "--mlperf-log", "{0} needs a folder: add --mlperf-log DIR"},
    {"run", "--repeats=auto", with, "--duel|--tenant|--find-peak|--mlperf",
     "{0} needs points that are measured alone: give a number with {1}"},
    {"run", "--repeats=auto", with, "--iterations|--duration", "{0} continues until an interval is as narrow as --interval: leave out {1}"},
    {"run", "--quick", with, "--iterations|--duration|--min-duration|--energy|--duel|--tenant",
     "{0} sets the shortest window to half a second: leave out {1}"},
    {"run", "--tenant", with, "--iterations|--interval|--percentile",
     "tenants are measured in windows of one length: give --duration, and leave out {1}"},
    {"run", "--find-peak", with, "--iterations|--interval|--percentile", "{0} compares windows of one length: leave out {1}"},
    {"run", "--apart", with, "--duel", "{0} measures engines one after the other, {1} in alternating time slices: leave out one of them"},
    {"run", "--margin", without, "--duel|a study file", "{0} goes with --duel: add --duel AXIS, or leave it out"},
    {"run", "--profile", with, "--duel|--tenant|--find-peak|--mlperf", "{0} needs points that are measured alone: leave it out with {1}"},
    {"study", "--profile", with, "find_peak", "{0} does not work with find_peak in a study: leave one of them out"},
    {"study", "--json", with, "find_peak", "{0} describes one search or one grid: leave it out for a study with find_peak"},
    {"study", "--peak-from|--peak-ratio|--peak-interval", without, "--find-peak|find_peak", "{0} goes with a peak search: add --find-peak"},
    {"study", "--scale", without, "mlperf", "{0} goes with MLPerf runs: add --mlperf ROUND, or leave it out"},
    {"study", "--mlperf-log", without, "mlperf", "{0} goes with MLPerf runs: add --mlperf ROUND, or leave it out"},
    {"tune", "max_batch|max_delay", without, "bound",
     "--max-batch and --max-delay apply to queries that arrive at their own times: give --slo, or tune --batch"},

    {"export", "--baseline", without, "--by=point", "{0} compares points: add --by point"},
    {"export", "--telemetry", without, "format=csv|format=log", "{0} writes csv or log: leave out --format, --compact and --recompute"},
    {"export", "--telemetry", with, "--by=point|--percentile|--prices|--baseline", "{0} applies to records: leave out {1}"},
    {"export", "--profile", without, "format=csv|format=json",
     "{0} writes the profiles alone, as csv or json: leave out --format, --compact and --recompute"},
    {"export", "--timings", without, "format=csv|format=json",
     "{0} writes the timed queries alone, as csv or json: leave out --format, --compact and --recompute"},
    {"export", "--profile", with, "--telemetry|--by=point|--percentile|--prices|--baseline",
     "{0} writes the profiles alone: leave out {1}"},
    {"export", "--timings", with, "--telemetry|--profile|--by=point|--percentile|--prices|--baseline",
     "{0} writes the timed queries alone: leave out {1}"},
    {"export", "--prices|--baseline|--percentile|--by=point", without, "format=csv|format=json|format=log",
     "{0} applies to the rows of csv and json: leave it out"},
    {"export", "format=log", without, "--telemetry", "{0} writes readings of probes: add --telemetry"},
    {"export", "format=db", without, "--output", "a store needs a file: add --output NAME.db"},
    {"export", "format=db", with, "several stores", "a store is made from one store: name one, or export the rows of all as csv or json"},
    {"export", "--compact|--recompute", without, "format=db", "{0} makes a store: leave out --format"},
    {"export", "format=mlperf|format=mlperf-endpoints", without, "--output", "a submission's tree needs a folder: add --output DIR"},
    {"export", "format=mlperf|format=mlperf-endpoints", with, "--anonymous", "{0} describes the system: leave out {1}"},
    {"export", "--disclosure", without, "format=mlperf-endpoints", "{0} goes with --format mlperf-endpoints"},
    {"check", "store", with, "--against|--nodes|--margin|--outputs|--text", "a store holds checks that were made before: leave out {1}"},
    {"check", "--text", with, "--nodes|--margin|--outputs|--dataset", "{0} measures perplexity: leave out {1}"},
    {"check", "--nodes", with, "--margin", "--margin applies to classes of outputs: leave it out with --nodes"},
    {"check", "--nodes", with, "--outputs", "{0} writes no outputs: leave {1} out"},
    {"check", "--nodes", with, "--against", "{0} compares with the FP32 reference: leave {1} out"},
    {"compare", "--profile", with, "--json|--format=json|--format=md", "{0} prints text: leave it out with {1}"},
    {"cache", "list", with, "--clear", "{0} and {1} contradict each other: leave one of them out"},
    {"tag|note", "--json", with, "--remove|text", "{0} goes with the list: leave it out"},
    {"import", "--chip", without, "format=ncu", "{0} goes with 'deepgap import ncu' without a file"},
    {"import", "--chip", with, "file", "{0} goes with 'deepgap import ncu' without a file"},
    {"import", "format=ncu", with, "--mapping|--source|--set|--output", "import ncu stores no records: leave out {1}"},
    {"import", "--telemetry|--profile", without, "format=deepgap", "{0} goes with rows that deepgap exported: leave it out"},
    {"import", "format=deepgap", with, "--mapping|--source|--set", "{1} goes with published tables: leave it out"},
    {"import", "format=mlperf", with, "--mapping", "{1} goes with csv: leave it out"},
};

// Returns the first of the names that is in use.
const Features::value_type* first_of(std::string_view names, const Features& features) {
  for (const std::string& name : split(names, '|')) {
    if (const auto found = features.find(name); found != features.end()) return &*found;
  }
  return nullptr;
}

std::optional<Conflict> conflict_of(const ConflictRow& row, const Features& features) {
  const auto* feature = first_of(row.features, features);
  if (feature == nullptr) return std::nullopt;
  const auto* other = first_of(row.others, features);
  if ((other != nullptr) != (row.relation == with)) return std::nullopt;
  const std::string_view shown = other == nullptr ? std::string_view() : other->second;
  return Conflict{feature->second, fmt::format(fmt::runtime(row.message), feature->second, shown)};
}

}  // namespace

std::span<const ConflictRow> conflict_rows() { return rows; }

std::optional<Conflict> find_conflict(std::string_view scope, const Features& features) {
  for (const ConflictRow& row : rows) {
    const auto scopes = split(row.scopes, '|');
    if (std::find(scopes.begin(), scopes.end(), scope) == scopes.end()) continue;
    if (auto conflict = conflict_of(row, features)) return conflict;
  }
  return std::nullopt;
}

void refuse_conflicts(std::string_view scope, const Features& features) {
  if (const auto conflict = find_conflict(scope, features)) throw Error(ErrorKind::usage, conflict->message);
}

}  // namespace deepgap
