#include "kernels/counted_run.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace deepgap {
namespace {

using nlohmann::json;

json counters_json(const KernelCounters& k) {
  return {{"name", k.kernel},   {"family", k.family},           {"grid", k.grid},      {"block", k.block},
          {"stream", k.stream}, {"traced_s", k.traced_seconds}, {"metrics", k.metrics}};
}

KernelCounters counters_from(const json& row) {
  KernelCounters k;
  row.at("name").get_to(k.kernel);
  row.at("family").get_to(k.family);
  row.at("grid").get_to(k.grid);
  row.at("block").get_to(k.block);
  row.at("stream").get_to(k.stream);
  row.at("traced_s").get_to(k.traced_seconds);
  row.at("metrics").get_to(k.metrics);
  return k;
}

}  // namespace

bool KnownCount::is_right() const { return counted >= 0 && std::abs(counted - expected) <= tolerance * expected; }

json counted_run_to_json(const CountedRun& run) {
  json parts = json::array(), known = json::array();
  for (const CountedPart& part : run.parts) {
    parts.push_back(counters_json(part.counters));
    parts.back()["layer"] = part.layer;
  }
  for (const KnownCount& one : run.known)
    known.push_back(
        {{"what", one.what}, {"group", one.group}, {"expected", one.expected}, {"counted", one.counted}, {"tolerance", one.tolerance}});
  return {{"chip", run.chip}, {"by_kernel", run.by_kernel}, {"parts", parts},       {"whole", counters_json(run.whole)},
          {"known", known},   {"parts_missing", run.notes}, {"passes", run.passes}, {"missing", run.missing}};
}

CountedRun counted_run_from_json(const json& object) {
  CountedRun run;
  object.at("chip").get_to(run.chip);
  object.at("by_kernel").get_to(run.by_kernel);
  for (const json& row : object.at("parts")) run.parts.push_back({counters_from(row), row.at("layer")});
  run.whole = counters_from(object.at("whole"));
  for (const json& row : object.at("known")) {
    KnownCount one;
    row.at("what").get_to(one.what);
    row.at("group").get_to(one.group);
    row.at("expected").get_to(one.expected);
    row.at("counted").get_to(one.counted);
    row.at("tolerance").get_to(one.tolerance);
    run.known.push_back(std::move(one));
  }
  object.at("parts_missing").get_to(run.notes);
  object.at("passes").get_to(run.passes);
  object.at("missing").get_to(run.missing);
  return run;
}

}  // namespace deepgap
